#!/bin/bash
# The first article's experiment from a stock client: builds the release server (or takes HARDPAN_BIN), installs python-tds and
# pymssql as tests/compat/run.sh does, runs every row of the article's tables and prints them beside the article's numbers.
# With the word scripts first: runs every listing of the five articles and compares what becomes of each with docs/article-scripts.md.
#   tests/articles/run.sh scripts [--write | --full] [--data FOLDER]
#   tests/articles/run.sh [--rows 1000000] [--durable-rows N] [--client pytds|pymssql] [--only NAME] [--data FOLDER]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${HARDPAN_COMPAT_CACHE:-$root/target/compat}
if [ -z "${HARDPAN_BIN:-}" ]; then
  (cd "$root" && cargo build --release -q -p hardpan)
  HARDPAN_BIN=${CARGO_TARGET_DIR:-$root/target}/release/hardpan
fi
mkdir -p "$cache"
[ -x "$cache/python/bin/python" ] || python3 -m venv "$cache/python"
requirements=$root/tests/compat/requirements.txt
cmp -s "$requirements" "$cache/python/requirements.txt" || {
  "$cache/python/bin/pip" -q install --disable-pip-version-check -r "$requirements"
  cp "$requirements" "$cache/python/"
}
program=log_flushes.py
if [ "${1:-}" = scripts ]; then
  program=scripts.py
  shift
fi
exec "$cache/python/bin/python" "$here/$program" --binary "$HARDPAN_BIN" "$@"
