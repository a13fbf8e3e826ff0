#!/bin/bash
# The stock clients against the real server: starts a release server on a free port with a fresh data directory, runs
# every client's script, counts its 'ok' and 'not ok' lines. A client that did not run is a failure.
#   tests/compat/run.sh [client ...]     clients: go freetds pymssql pytds odbc tedious jdbc
# HARDPAN_BIN: a server binary instead of a new release build. HARDPAN_COMPAT_CACHE: where clients are installed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${HARDPAN_COMPAT_CACHE:-$root/target/compat}
clients=${*:-go freetds pymssql pytds odbc tedious jdbc}
mkdir -p "$cache"
work=$(mktemp -d)
server=""
cleanup() { [ -n "$server" ] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; rm -rf "$work"; }
trap cleanup EXIT

if [ -z "${HARDPAN_BIN:-}" ]; then
  (cd "$root" && cargo build --release -q -p hardpan) || exit 1
  HARDPAN_BIN=${CARGO_TARGET_DIR:-$root/target}/release/hardpan
fi

# Installing is apart from running, so that a broken registry shows as such.
install_python() { # the versions in requirements.txt, in a virtual environment of our own
  [ -x "$cache/python/bin/python" ] || python3 -m venv "$cache/python" || return 1
  cmp -s "$here/requirements.txt" "$cache/python/requirements.txt" && return 0
  "$cache/python/bin/pip" -q install --disable-pip-version-check -r "$here/requirements.txt" && cp "$here/requirements.txt" "$cache/python/"
}
install_system() { # freetds tools; the ODBC manager that pyodbc loads
  command -v tsql >/dev/null && ldconfig -p | grep -q libodbc.so && return 0
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq freetds-bin unixodbc >/dev/null
}
prepare() {
  case $1 in
    go) (cd "$here/go" && go build -o "$cache/go-client" .) ;;
    freetds) install_system ;;
    pymssql|pytds) install_python ;;
    odbc) install_system && install_python ;;
    tedious)
      cmp -s "$here/tedious/package.json" "$cache/tedious/package.json" || {
        mkdir -p "$cache/tedious" && cp "$here/tedious/package.json" "$cache/tedious/" &&
          (cd "$cache/tedious" && npm install --silent --no-audit --no-fund); } ;;
    jdbc)
      (cd "$here/jdbc" && mvn -q -B -DbuildDirectory="$cache/jdbc" compile dependency:copy-dependencies) ;;
  esac
}
start_client() {
  case $1 in
    go) "$cache/go-client" ;;
    freetds) bash "$here/freetds.sh" ;;
    pymssql|pytds|odbc) "$cache/python/bin/python" "$here/$1_client.py" ;;
    tedious) NODE_NO_WARNINGS=1 NODE_PATH=$cache/tedious/node_modules node "$here/tedious/compat.js" ;;
    jdbc) java -cp "$cache/jdbc/classes:$cache/jdbc/dependency/*" Compat ;;
  esac
}

export HARDPAN_PASSWORD="Compat-$RANDOM$RANDOM" HARDPAN_HOST=127.0.0.1
HARDPAN_SA_PASSWORD=$HARDPAN_PASSWORD "$HARDPAN_BIN" serve --data "$work/data" --listen 127.0.0.1:0 > "$work/server.out" 2> "$work/server.log" &
server=$!
for _ in $(seq 100); do
  HARDPAN_PORT=$(sed -n 's/.*127\.0\.0\.1:\([0-9][0-9]*\).*/\1/p' "$work/server.out" | head -1)
  [ -n "$HARDPAN_PORT" ] && break
  kill -0 "$server" 2>/dev/null || break
  sleep 0.1
done
[ -n "${HARDPAN_PORT:-}" ] || { echo "the server did not start:"; cat "$work/server.out" "$work/server.log"; exit 1; }
export HARDPAN_PORT HARDPAN_CERTIFICATE=$work/data/server-cert.pem

for client in $clients; do
  if ! prepare "$client" > "$work/install.log" 2>&1; then
    echo "not ok $client could not be installed: $(tail -3 "$work/install.log" | tr '\n' ' ')" | tee -a "$work/results"
    continue
  fi
  timeout 180 bash -c "$(declare -f start_client); cache='$cache' here='$here'; start_client $client" > "$work/$client.out" 2>&1
  status=$?
  grep -E '^(ok|not ok) ' "$work/$client.out" | tee -a "$work/results"
  if ! grep -qE '^ok ' "$work/$client.out" || { [ $status -ne 0 ] && ! grep -qE '^not ok ' "$work/$client.out"; }; then
    echo "not ok $client did not run to its end (status $status): $(grep -vE '^(ok|not ok) ' "$work/$client.out" | tail -3 | tr '\n' ' ' | cut -c1-400)" | tee -a "$work/results"
  fi
  if ! kill -0 "$server" 2>/dev/null; then
    echo "not ok server died while $client ran" | tee -a "$work/results"
    tail -20 "$work/server.log"
    break
  fi
done

if kill -0 "$server" 2>/dev/null; then
  kill -TERM "$server"
  if wait "$server"; then echo "ok server stops cleanly" | tee -a "$work/results"; else echo "not ok server stops cleanly: status $?" | tee -a "$work/results"; fi
fi
server=""
if grep -i 'panicked' "$work/server.log"; then echo "not ok server panicked" | tee -a "$work/results"; fi
[ -n "${HARDPAN_COMPAT_LOG:-}" ] && cp "$work/server.log" "$HARDPAN_COMPAT_LOG"
passed=$(grep -c '^ok ' "$work/results")
failed=$(grep -c '^not ok ' "$work/results")
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
