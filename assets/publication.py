"""The publication: in the lineage as an asset, made only by a job of its own, to where the settings say."""

# No postponed annotations here: Dagster reads those of a step, a check, a sensor as classes.
import dagster as dg

from assets.resources import Project
from pipeline.dataset.build import TABLES
from pipeline.dataset.publish import breaking_changes, publish_configured
from pipeline.errors import RescueError

__all__ = ["PUBLICATION", "publish", "schemas_fit"]

_GROUP = "publication"


PUBLICATION = dg.AssetSpec(
    "publication",
    deps=[["benchmark", name] for name in (*TABLES, "statistics")],
    group_name=_GROUP,
    kinds={"huggingface"},
    description="The data set as others can load it, under the policy and to the target that `publication:` in "
    "`rescue.yaml` names. Only the job `publish` makes it: whoever materializes everything does not mean to give data "
    "away. No recording is in it.",
)


@dg.op(description="Publishes the built data set, unless the same is there already.")
def publish_data_set(context: dg.OpExecutionContext, project: Project) -> None:
    """Publish as the settings say, and tell the lineage."""
    chosen = project.settings.publication
    try:
        done = publish_configured(project.settings, chosen)
    except RescueError as error:
        metadata = {"try": error.hint} if error.hint else None
        raise dg.Failure(error.message, metadata=metadata, allow_retries=False) from error
    context.log_event(
        dg.AssetMaterialization(
            PUBLICATION.key,
            metadata={
                "version": done.version,
                "made now": done.changed,
                "policy": chosen.policy.value,
                "pseudonyms": not chosen.keep_names,
                "files": len(done.files),
            },
        )
    )


@dg.job(description="Publish the data set to where `rescue.yaml` says. It never runs by itself.")
def publish() -> None:
    """The one way to publish from the workbench."""
    publish_data_set()


@dg.asset_check(
    asset=["benchmark", "statistics"],
    description="Who reads the last published version can read the next one: no column goes or changes its type.",
)
def schemas_fit(project: Project) -> dg.AssetCheckResult:
    """Compare with what lies at the target."""
    try:
        broken = breaking_changes(project.settings.publication)
    except RescueError as error:
        return dg.AssetCheckResult(
            passed=False, severity=dg.AssetCheckSeverity.WARN, metadata={"not compared": error.message}
        )
    if broken is None:
        return dg.AssetCheckResult(passed=True, metadata={"compared": "no: nothing is published yet"})
    return dg.AssetCheckResult(
        passed=not broken,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"would break": dg.MetadataValue.json(broken)} if broken else {},
    )
