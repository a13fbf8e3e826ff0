#!/bin/bash
# The test suites that client packages ship, against the real server: downloads them, runs them, prints for each what was collected, passed, failed and
# skipped, and the first line of each failure. No part of .ci/run: it takes about ten minutes and needs package registries.
#   tests/compat/suites.sh [suite ...]     suites: go pymssql sqlalchemy
# HARDPAN_BIN: a server binary instead of a new release build. HARDPAN_COMPAT_CACHE: where suites are installed. HARDPAN_SUITES_OUT: a folder that keeps
# the whole output of each suite.
# The packages of tedious, node-mssql, knex, mssql-django and mssql-jdbc have no tests in them.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${HARDPAN_COMPAT_CACHE:-$root/target/compat}/suites
suites=${*:-go pymssql sqlalchemy}
GO_MSSQLDB=v1.11.2 PYMSSQL=2.4.6 SQLALCHEMY=2.1.9
# The server may have so much address space, in KiB.
SERVER_KIB=16000000
mkdir -p "$cache"
work=$(mktemp -d)
out=${HARDPAN_SUITES_OUT:-$work}
mkdir -p "$out"
server=""
stop_server() { [ -n "$server" ] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; server=""; }
trap 'stop_server; rm -rf "$work"' EXIT

if [ -z "${HARDPAN_BIN:-}" ]; then
  (cd "$root" && cargo build --release -q -p hardpan) || exit 1
  HARDPAN_BIN=${CARGO_TARGET_DIR:-$root/target}/release/hardpan
fi

install_python() { # a virtual environment with what the Python suites import
  [ -e "$cache/python/complete" ] && return 0
  python3 -m venv "$cache/python" &&
    "$cache/python/bin/pip" -q install --disable-pip-version-check "pymssql==$PYMSSQL" "SQLAlchemy==$SQLALCHEMY" pytest pytest-timeout gevent psutil &&
    touch "$cache/python/complete"
}
source_of() { # NAME VERSION: the source distribution, which has the tests
  [ -d "$cache/$1-$2" ] && return 0
  "$cache/python/bin/pip" -q download --no-deps --no-binary :all: -d "$cache" "$1==$2" && tar xzf "$cache/$1-$2.tar.gz" -C "$cache"
}
prepare() {
  case $1 in
    go)
      [ -x "$cache/go/suite" ] && return 0
      local module
      module=$(cd "$here/go" && go mod download -json "github.com/microsoft/go-mssqldb@$GO_MSSQLDB" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p') &&
        rm -rf "$cache/go" && cp -r "$module" "$cache/go" && chmod -R u+w "$cache/go" && (cd "$cache/go" && go test -c -o suite .) ;;
    pymssql) install_python && source_of pymssql "$PYMSSQL" ;;
    sqlalchemy) install_python && source_of sqlalchemy "$SQLALCHEMY" ;;
  esac
}

# Starts a server with a fresh data directory on this port, or on any; sets `port`.
start_server() {
  local data
  data=$(mktemp -d -p "$work")
  (ulimit -v $SERVER_KIB; HARDPAN_SA_PASSWORD=$password exec "$HARDPAN_BIN" serve --data "$data/data" --listen "127.0.0.1:$1") > "$data/out" 2> "$data/log" &
  server=$!
  for _ in $(seq 100); do
    port=$(sed -n 's/.*127\.0\.0\.1:\([0-9][0-9]*\).*/\1/p' "$data/out" | head -1)
    [ -n "$port" ] && return 0
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  echo "the server did not start:"; cat "$data/out" "$data/log"
  return 1
}
prepare_database() { # what SQLAlchemy's README.unittests.rst asks for
  "$cache/python/bin/python" - "$port" "$password" <<'PYTHON'
import sys
import pymssql
def run(database, *statements):
    connection = pymssql.connect(server="127.0.0.1", port=sys.argv[1], user="sa", password=sys.argv[2], database=database, autocommit=True)
    for statement in statements:
        connection.cursor().execute(statement)
    connection.close()
run("master", "CREATE DATABASE test", "ALTER DATABASE test SET ALLOW_SNAPSHOT_ISOLATION ON", "ALTER DATABASE test SET READ_COMMITTED_SNAPSHOT ON")
run("test", "CREATE SCHEMA test_schema", "CREATE SCHEMA test_schema_2")
PYTHON
}
run_suite() {
  local python=$cache/python/bin/python flags="-q --timeout 60 -p no:cacheprovider -rfEs --tb=short"
  case $1 in
    go)
      start_server 0 &&
        (cd "$cache/go" && SQLSERVER_DSN="sqlserver://sa:$password@127.0.0.1:$port?database=master&encrypt=true&TrustServerCertificate=true" \
          timeout 900 ./suite -test.v -test.timeout 800s) ;;
    pymssql) # One of its tests names no port.
      start_server 1433 || return 1
      printf '[hardpan]\nserver = 127.0.0.1\nusername = sa\npassword = %s\ndatabase = tempdb\nport = %s\nipaddress = 127.0.0.1\n' \
        "$password" "$port" > "$cache/pymssql-$PYMSSQL/tests/tests.cfg"
      (cd "$cache/pymssql-$PYMSSQL" && timeout 900 "$python" -m pytest tests --pymssql-section hardpan $flags) ;;
    sqlalchemy)
      start_server 0 && prepare_database &&
        (cd "$cache/sqlalchemy-$SQLALCHEMY" && timeout 900 "$python" -m pytest test/dialect/test_suite.py test/dialect/mssql \
          --dburi "mssql+pymssql://sa:$password@127.0.0.1:$port/test" $flags) ;;
  esac
}

# Prints `collected`, `passed`, `failed`, `skipped` of a Go suite, and each failure with its last line that is not of the driver's log; of subtests the
# first that failed, and their number.
tell_go() {
  awk '
    function top(name) { sub(/\/.*/, "", name); return name }
    /^=== (RUN|CONT|NAME) / { current = $3 }
    /^ +[a-z0-9_]+_test\.go:[0-9]+: ./ && !/\[(session|tds|token)\.go:[0-9]+\]/ { text = $0; sub(/^ +/, "", text); line[current] = text }
    /^--- PASS: / { passed++ }
    /^--- SKIP: / { skipped++ }
    /^--- FAIL: / { failed++; names[++count] = $3 }
    /^ +--- FAIL: / && ($3 in line) { if (!(top($3) in first)) first[top($3)] = line[$3]; parts[top($3)]++ }
    END {
      printf "go-mssqldb: collected %d, passed %d, failed %d, skipped %d\n", passed + failed + skipped, passed, failed, skipped
      for (at = 1; at <= count; at++) {
        name = names[at]
        more = (parts[name] > 1) ? " (and " (parts[name] - 1) " more subtests)" : ""
        printf "  %s: %s%s\n", name, substr((name in first) ? first[name] : line[name], 1, 200), more
      }
      exit passed == 0
    }' "$1"
}
# The same of a pytest run: the first line of each failure that begins with E. An xfail counts as passed: it is what the suite expects.
tell_pytest() {
  awk -v suite="$1" '
    /^_+ .* _+$/ { name = $0; gsub(/^_+ | _+$/, "", name); waits = 1 }
    waits && /^E  / { text = $0; sub(/^E +/, "", text); reason[++count] = "  " name ": " substr(text, 1, 200); waits = 0 }
    /[0-9]+ passed/ { last = $0 }
    function number(word,   found) { return match(last, "[0-9]+ " word) ? substr(last, RSTART, RLENGTH) + 0 : 0 }
    END {
      passed = number("passed") + number("xfailed") + number("xpassed"); failed = number("failed") + number("error"); skipped = number("skipped")
      printf "%s: collected %d, passed %d, failed %d, skipped %d\n", suite, passed + failed + skipped, passed, failed, skipped
      for (at = 1; at <= count; at++) print reason[at]
      exit passed == 0
    }' "$2"
}

password="Suites-$RANDOM$RANDOM"
status=0
for suite in $suites; do
  if ! prepare "$suite" > "$out/$suite.install" 2>&1; then
    echo "$suite: could not be installed: $(tail -3 "$out/$suite.install" | tr '\n' ' ')"
    status=1
    continue
  fi
  run_suite "$suite" > "$out/$suite.out" 2>&1
  if [ -n "$server" ] && ! kill -0 "$server" 2>/dev/null; then
    echo "$suite: the server died"
    status=1
  fi
  stop_server
  case $suite in
    go) tell_go "$out/$suite.out" ;;
    *) tell_pytest "$suite" "$out/$suite.out" ;;
  esac || { echo "$suite did not run: $(tail -3 "$out/$suite.out" | tr '\n' ' ')"; status=1; }
done
exit $status
