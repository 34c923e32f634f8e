"""The models that the settings list, run as the workbench runs them."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.evaluation.cost import read_prices
from pipeline.evaluation.instances import Selection
from pipeline.evaluation.judging import Graders
from pipeline.evaluation.plan import Call, plan_run
from pipeline.evaluation.run import RunReport, run
from pipeline.settings import EvaluatedModel, Settings
from pipeline.tasks.render import RenderOptions

__all__ = ["run_configured"]


def run_configured(
    model: EvaluatedModel,
    settings: Settings,
    *,
    fresh: bool = False,
    on_finished: Callable[[str], None] = lambda _: None,
) -> list[RunReport]:
    """Answer what is not answered yet, in each mode of a model.

    Args:
        model: One of ``settings.evaluation.models``.
        settings: The settings in force.
        fresh: Ask everything again, whatever was answered before.
        on_finished: Told the id of every instance that is over.

    Raises:
        InputError: If the data set, or the price file, is missing or broken.
        PrerequisiteError: If the provider, its package or its key is missing.
        UsageError: If a name is unknown, or there is a limit of cost and no price.
    """
    prices = read_prices(settings.evaluation.prices)
    call = Call(base_url=model.base_url, max_connections=model.max_connections, temperature=model.temperature)
    graders = Graders(settings.evaluation.graders, base_url=settings.evaluation.grader_url, prices=prices)
    plans = [
        plan_run(
            model.model,
            settings.data,
            tasks=model.tasks,
            selection=Selection(limit=model.limit),
            options=RenderOptions(mode=mode),
            call=call,
        )
        for mode in model.modes
    ]
    return [
        run(
            plan,
            graders=graders,
            prices=prices,
            cost_limit=model.cost_limit,
            fresh=fresh,
            on_finished=on_finished,
        )
        for plan in plans
    ]
