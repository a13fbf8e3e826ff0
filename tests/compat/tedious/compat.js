// tedious (the driver under node-mssql, knex, sequelize, typeorm): connect, SET batch, parameters of every type,
// errors, transactions, prepared statements, cancellation, reset.
'use strict';
const { Connection, Request, TYPES, ISOLATION_LEVEL } = require('tedious');
const { HARDPAN_HOST, HARDPAN_PORT, HARDPAN_PASSWORD } = process.env;
let failures = 0;

async function check(name, body) {
  try {
    await body();
    console.log(`ok tedious ${name}`);
  } catch (error) {
    failures++;
    console.log(`not ok tedious ${name}: ${error && error.message}`);
  }
}

function connect(options = {}, password = HARDPAN_PASSWORD) {
  return new Promise((resolve, reject) => {
    const connection = new Connection({
      server: HARDPAN_HOST,
      authentication: { type: 'default', options: { userName: 'sa', password } },
      options: { port: +HARDPAN_PORT, trustServerCertificate: true, database: 'master', useUTC: true, serverName: 'localhost', ...options },
    });
    connection.on('error', () => {});
    connection.connect((error) => (error ? reject(error) : resolve(connection)));
  });
}

// Runs a request; `how` is execSql, execSqlBatch, callProcedure ...
function run(connection, sql, { how = 'execSql', parameters = [], outputs = [], started } = {}) {
  return new Promise((resolve, reject) => {
    const rows = [];
    const out = {};
    let status;
    const request = new Request(sql, (error, count) => (error ? reject(error) : resolve({ rows, out, count, status })));
    for (const [name, type, value, options] of parameters) request.addParameter(name, type, value, options);
    for (const [name, type, value, options] of outputs) request.addOutputParameter(name, type, value, options);
    request.on('row', (columns) => rows.push(columns.map((column) => column.value)));
    request.on('returnValue', (name, value) => { out[name] = value; });
    request.on('doneProc', (_count, _more, returned) => { status = returned; });
    connection[how](request);
    if (started) started(connection);
  });
}

function same(got, want) {
  const [a, b] = [got, want].map((value) => (Buffer.isBuffer(value) ? value.toString('hex') : value instanceof Date ? value.toISOString() : value));
  if (JSON.stringify(a) !== JSON.stringify(b)) throw new Error(`got ${String(JSON.stringify(a)).slice(0, 80)}, want ${String(JSON.stringify(b)).slice(0, 80)}`);
}

async function refused(promise, number) {
  let error;
  try { await promise; } catch (caught) { error = caught; }
  if (!error) throw new Error(`no error, expected ${number}`);
  if (number && error.number !== number) throw new Error(`expected ${number}, got ${error.number}: ${error.message}`);
  return error;
}

// The columns and rows of a bulk load, then what of them stands there.
async function bulk(connection) {
  await run(connection, 'DROP TABLE IF EXISTS dbo.compat_tedious_b; CREATE TABLE dbo.compat_tedious_b (i int NOT NULL PRIMARY KEY, t nvarchar(20) NULL, m varchar(max) NULL, d decimal(10,2) NULL, b varbinary(max) NULL, w datetime2(3) NULL, n text NULL)', { how: 'execSqlBatch' });
  const load = (rows, options) => new Promise((resolve, reject) => {
    const loading = connection.newBulkLoad('dbo.compat_tedious_b', options, (error, count) => (error ? reject(error) : resolve(count)));
    loading.addColumn('i', TYPES.Int, { nullable: false });
    loading.addColumn('t', TYPES.NVarChar, { length: 20, nullable: true });
    loading.addColumn('m', TYPES.VarChar, { length: Infinity, nullable: true });
    loading.addColumn('d', TYPES.Decimal, { precision: 10, scale: 2, nullable: true });
    loading.addColumn('b', TYPES.VarBinary, { length: Infinity, nullable: true });
    loading.addColumn('w', TYPES.DateTime2, { scale: 3, nullable: true });
    loading.addColumn('n', TYPES.Text, { nullable: true });
    connection.execBulkLoad(loading, rows);
  });
  const row = (i) => [i, i % 2 ? '漢字' : null, 'x'.repeat((i % 7) * 1000), i / 4, Buffer.alloc(i % 5), new Date(Date.UTC(2024, 1, 29, 13, 14, 15, 123)), i % 3 ? 'text' : null];
  same(await load(Array.from({ length: 3000 }, (_, i) => row(i)), { checkConstraints: true, keepNulls: true, lockTable: true }), 3000);
  const { rows } = await run(connection, 'SELECT COUNT(*), COUNT(t), MAX(t), SUM(LEN(m)), SUM(d), SUM(DATALENGTH(b)), MAX(w), SUM(SIGN(DATALENGTH(n))) FROM dbo.compat_tedious_b');
  const wide = Array.from({ length: 3000 }, (_, i) => (i % 7) * 1000).reduce((a, b) => a + b);
  same(rows, [[3000, 1500, '漢字', String(wide), 1124625, '6000', new Date(Date.UTC(2024, 1, 29, 13, 14, 15, 123)), 2000]]);
  await refused(load([row(5000), row(1)], {}), 2627);
  same((await run(connection, 'SELECT COUNT(*) FROM dbo.compat_tedious_b')).rows, [[3000]]);
}

async function types(connection) {
  const moment = new Date(Date.UTC(2024, 1, 29, 13, 14, 15, 123));
  const cases = [
    ['bit', TYPES.Bit, true, true], ['tinyint', TYPES.TinyInt, 255, 255], ['smallint', TYPES.SmallInt, -32768, -32768],
    ['int', TYPES.Int, -2147483648, -2147483648], ['bigint', TYPES.BigInt, '9223372036854775807', '9223372036854775807'],
    ['decimal(18,4)', TYPES.Decimal, 12345.6789, 12345.6789, { precision: 18, scale: 4 }],
    ['numeric(9,2)', TYPES.Numeric, -1.25, -1.25, { precision: 9, scale: 2 }],
    ['money', TYPES.Money, 1234.5678, 1234.5678], ['smallmoney', TYPES.SmallMoney, -1.25, -1.25],
    ['real', TYPES.Real, 1.5, 1.5], ['float', TYPES.Float, 1.25e300, 1.25e300],
    ['char(5)', TYPES.Char, 'ab', 'ab   ', { length: 5 }], ['varchar(20)', TYPES.VarChar, 'naive', 'naive'],
    ['varchar(max)', TYPES.VarChar, 'x'.repeat(10000), 'x'.repeat(10000)], ['nchar(3)', TYPES.NChar, '漢', '漢  ', { length: 3 }],
    ['nvarchar(20)', TYPES.NVarChar, '漢字€', '漢字€'], ['nvarchar(max)', TYPES.NVarChar, '字'.repeat(5000), '字'.repeat(5000)],
    ['binary(4)', TYPES.Binary, Buffer.from([1, 2, 3, 4]), Buffer.from([1, 2, 3, 4])],
    ['varbinary(10)', TYPES.VarBinary, Buffer.from([1, 2, 255]), Buffer.from([1, 2, 255])],
    ['varbinary(max)', TYPES.VarBinary, Buffer.alloc(9000), Buffer.alloc(9000)],
    ['date', TYPES.Date, moment, new Date(Date.UTC(2024, 1, 29))], ['datetime', TYPES.DateTime, moment, moment],
    ['smalldatetime', TYPES.SmallDateTime, moment, new Date(Date.UTC(2024, 1, 29, 13, 14))],
    ['datetime2(3)', TYPES.DateTime2, moment, moment, { scale: 3 }], ['datetimeoffset(3)', TYPES.DateTimeOffset, moment, moment, { scale: 3 }],
    ['time(3)', TYPES.Time, moment, new Date(Date.UTC(1970, 0, 1, 13, 14, 15, 123)), { scale: 3 }],
    ['uniqueidentifier', TYPES.UniqueIdentifier, '6F9619FF-8B86-D011-B42D-00C04FC964FF', '6F9619FF-8B86-D011-B42D-00C04FC964FF'],
    ['int', TYPES.Int, null, null], ['nvarchar(10)', TYPES.NVarChar, null, null], ['text', TYPES.Text, 'long text', 'long text'],
  ];
  for (const [name, type, value, want, options] of cases) {
    try {
      const { rows } = await run(connection, `SELECT CAST(@v AS ${name})`, { parameters: [['v', type, value, options]] });
      same(rows[0][0], want);
    } catch (error) {
      throw new Error(`${name}: ${error.message}`);
    }
  }
}

function transaction(connection, verb, ...rest) {
  return new Promise((resolve, reject) => connection[verb]((error) => (error ? reject(error) : resolve()), ...rest));
}

async function transactions(connection) {
  const batch = (sql) => run(connection, sql, { how: 'execSqlBatch' });
  await batch('DROP TABLE IF EXISTS dbo.compat_tedious; CREATE TABLE dbo.compat_tedious (id int PRIMARY KEY)');
  await transaction(connection, 'beginTransaction', 'first', ISOLATION_LEVEL.SERIALIZABLE);
  await batch('INSERT INTO dbo.compat_tedious VALUES (1), (2)');
  await transaction(connection, 'rollbackTransaction');
  same((await batch('SELECT COUNT(*) FROM dbo.compat_tedious')).rows, [[0]]);
  await transaction(connection, 'beginTransaction');
  same((await batch('INSERT INTO dbo.compat_tedious VALUES (1), (2)')).count, 2);
  await transaction(connection, 'saveTransaction', 'here');
  await batch('INSERT INTO dbo.compat_tedious VALUES (3)');
  await transaction(connection, 'rollbackTransaction', 'here');
  await transaction(connection, 'commitTransaction');
  same((await batch('SELECT COUNT(*) FROM dbo.compat_tedious')).rows, [[2]]);
  await refused(batch('INSERT INTO dbo.compat_tedious VALUES (1)'), 2627);
}

function prepared(connection) {
  return new Promise((resolve, reject) => {
    const request = new Request('SELECT @a + 1', (error) => { if (error) reject(error); });
    request.addParameter('a', TYPES.Int);
    const got = [];
    let round = 0;
    request.on('row', (columns) => got.push(columns[0].value));
    request.on('prepared', () => connection.execute(request, { a: round }));
    request.on('requestCompleted', () => {
      round++;
      if (round <= 3) connection.execute(request, { a: round });
      else if (round === 4) connection.unprepare(request);
      else { try { same(got, [1, 2, 3, 4]); resolve(); } catch (error) { reject(error); } }
    });
    connection.prepare(request);
  });
}

async function main() {
  let connection;
  await check('connect, encryption by default', async () => { connection = await connect(); });
  if (!connection) process.exit(1);
  await check('connect without encryption', async () => (await connect({ encrypt: false })).close());
  await check('wrong password', async () => {
    const error = await refused(connect({}, 'wrong'));
    if (!/Login failed for user 'sa'/.test(error.message)) throw error;
  });
  await check('SELECT 1', async () => same((await run(connection, 'SELECT 1')).rows, [[1]]));
  await check('multi-statement batch', async () => {
    const { rows } = await run(connection, "DECLARE @i int = 1; SELECT @i; SET @i += 1; SELECT @i, N'zwei'", { how: 'execSqlBatch' });
    same(rows, [[1], [2, 'zwei']]);
  });
  await check('parameters of every type', () => types(connection));
  await check('errors with number and line', async () => {
    const error = await refused(run(connection, '\n\nSELECT * FROM dbo.does_not_exist', { how: 'execSqlBatch' }), 208);
    same(error.lineNumber, 3);
    await refused(run(connection, "RAISERROR('own words', 16, 1)"), 50000);
  });
  await check('transactions', () => transactions(connection));
  await check('procedure with OUTPUT', async () => {
    await run(connection, 'CREATE OR ALTER PROCEDURE dbo.compat_tedious_p @in int, @out int OUTPUT AS BEGIN SET @out = @in * 2; RETURN 7 END', { how: 'execSqlBatch' });
    const { out, status } = await run(connection, 'dbo.compat_tedious_p', { how: 'callProcedure', parameters: [['in', TYPES.Int, 21]], outputs: [['out', TYPES.Int]] });
    same([out.out, status], [42, 7]);
  });
  await check('prepared statement', () => prepared(connection));
  await check('bulk load', () => bulk(connection));
  await check('cancel', async () => {
    const began = Date.now();
    const error = await refused(run(connection, "WAITFOR DELAY '00:00:20'", { how: 'execSqlBatch', started: (c) => setTimeout(() => c.cancel(), 300) }));
    if (error.code !== 'ECANCEL' || Date.now() - began > 5000) throw error;
    same((await run(connection, 'SELECT 2')).rows, [[2]]);
  });
  await check('reset', async () => {
    await run(connection, 'CREATE TABLE #pooled (i int)', { how: 'execSqlBatch' });
    await new Promise((resolve, reject) => connection.reset((error) => (error ? reject(error) : resolve())));
    same((await run(connection, "SELECT OBJECT_ID('tempdb..#pooled')")).rows, [[null]]);
  });
  connection.close();
  process.exitCode = failures ? 1 : 0;
}

main();
