#!/bin/bash
# FreeTDS tools: tsql and bsqldb, each with a script on standard input and its output compared.
failures=0
say() { if [ "$1" = 0 ]; then echo "ok freetds $2"; else echo "not ok freetds $2: $3"; failures=1; fi; }
expect() { # name, pattern, text
  if grep -Eqz -- "$2" <<<"$3"; then say 0 "$1"; else say 1 "$1" "no '$2' in: $(head -c 300 <<<"$3" | tr '\n' '|')"; fi
}
for tool in tsql bsqldb freebcp; do command -v $tool >/dev/null || { echo "not ok freetds $tool is not installed"; exit 1; }; done
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
export FREETDSCONF=$work/freetds.conf
printf '[hardpan]\nhost = %s\nport = %s\ntds version = 7.4\nclient charset = UTF-8\n[old]\nhost = %s\nport = %s\ntds version = 7.1\nclient charset = UTF-8\n[clear]\nhost = %s\nport = %s\ntds version = 7.3\nencryption = off\n[forced]\nhost = %s\nport = %s\ntds version = 7.2\nencryption = require\n' \
  "$HARDPAN_HOST" "$HARDPAN_PORT" "$HARDPAN_HOST" "$HARDPAN_PORT" "$HARDPAN_HOST" "$HARDPAN_PORT" "$HARDPAN_HOST" "$HARDPAN_PORT" > "$FREETDSCONF"
run() { timeout 30 tsql -S "$1" -U sa -P "${3:-$HARDPAN_PASSWORD}" <<<"$2" 2>&1; }
for server in hardpan old clear forced; do
  expect "tsql $server" 'one[[:space:]]+1[[:space:]]+\(1 row' "$(run $server $'SELECT 1 AS one\ngo')"
done
expect "tsql types at TDS 7.1" '2024-02-29.*naïve' "$(run old $'SELECT CAST(\'2024-02-29\' AS date) AS d, CAST(N\'naïve\' AS nvarchar(max)) AS t\ngo')"
expect "tsql wrong password" 'Login failed for user' "$(run hardpan $'SELECT 1\ngo' wrong)"
expect "tsql error with number and line" 'Msg 208 \(severity 16, state 1\).*Line 2' "$(run hardpan $'SELECT 1\nSELECT * FROM dbo.does_not_exist\ngo')"
expect "tsql several result sets and rows affected" '\(2 rows affected\).*\(1 row affected\)' "$(run hardpan $'SELECT 1 UNION ALL SELECT 2\nSELECT 3\ngo')"
expect "tsql transaction" '0[[:space:]]+\(1 row affected\).*1[[:space:]]+\(1 row affected\)' "$(run hardpan $'DROP TABLE IF EXISTS dbo.compat_tsql\nCREATE TABLE dbo.compat_tsql (i int)\nBEGIN TRAN\nINSERT INTO dbo.compat_tsql VALUES (1)\nROLLBACK\nSELECT COUNT(*) FROM dbo.compat_tsql\ngo\nBEGIN TRAN\nINSERT INTO dbo.compat_tsql VALUES (1)\nCOMMIT\nSELECT COUNT(*) FROM dbo.compat_tsql\ngo')"
printf 'SELECT 1 AS a, N%s AS b\ngo\nPRINT %s\ngo\n' "'zwei'" "'hello'" > "$work/in.sql"
out=$(timeout 30 bsqldb -S hardpan -U sa -P "$HARDPAN_PASSWORD" -D master -i "$work/in.sql" 2>&1)
expect "bsqldb rows" '1 +zwei' "$out"
expect "bsqldb print" 'hello' "$out"
run hardpan $'DROP TABLE IF EXISTS dbo.compat_freebcp\nCREATE TABLE dbo.compat_freebcp (i int NOT NULL PRIMARY KEY, t nvarchar(20) NULL, m text NULL, d decimal(10,2) NULL)\ngo' > /dev/null
for i in $(seq 2000); do echo "$i,$([ $((i % 2)) = 0 ] || echo zwei),text $i,$i.25"; done > "$work/rows.csv"
for server in hardpan old; do
  out=$(timeout 60 freebcp master.dbo.compat_freebcp in "$work/rows.csv" -S $server -U sa -P "$HARDPAN_PASSWORD" -c -t , -b 500 -h TABLOCK 2>&1)
  expect "freebcp in, $server" '2000 rows copied' "$out"
  expect "freebcp rows, $server" '2000[[:space:]]+1000[[:space:]]+2000[[:space:]]+2001500.00' "$(run $server $'SELECT COUNT(*), COUNT(t), SUM(SIGN(DATALENGTH(m))), SUM(d) FROM dbo.compat_freebcp\ngo\nTRUNCATE TABLE dbo.compat_freebcp\ngo')"
done
exit $failures
