#!/bin/sh
# Starts Ray on one machine of several, in the project folder; docs/how-to/workers.md says how:
#   sh deploy/ray/start.sh --head --port 6379      on the first
#   sh deploy/ray/start.sh --address FIRST:6379    on each other one
# RAY_AUTH_TOKEN must be the same on all of them.
set -eu
cd "$(dirname "$0")/../.."
[ -n "${RAY_AUTH_TOKEN:-}" ] || {
    echo "start.sh: set RAY_AUTH_TOKEN first, the same on every machine; for example: openssl rand -hex 32" >&2
    exit 2
}
export RAY_AUTH_MODE=token
# With usage statistics off Ray still reports that they are off, and asks cloud providers where it runs: to a port where
# nothing listens. Workers cannot reach the web either; models come from this machine.
export RAY_USAGE_STATS_ENABLED=0 DO_NOT_TRACK=1 HF_HUB_OFFLINE=1
export RAY_USAGE_STATS_REPORT_URL=http://127.0.0.1:9
export HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9 NO_PROXY="127.0.0.1,localhost"
export http_proxy=$HTTP_PROXY https_proxy=$HTTPS_PROXY no_proxy=$NO_PROXY
case " $* " in
*" --head "*) set -- "$@" --include-dashboard false ;;
esac
exec .venv/bin/ray start --disable-usage-stats "$@"
