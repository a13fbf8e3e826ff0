// mssql-jdbc and jTDS against a server: encryption, batches, parameters of every type, errors, transactions (with
// delayed durability through the driver's own method), prepared statements, cancellation.
import java.math.BigDecimal;
import java.sql.*;
import java.util.Arrays;

public class Compat {
    interface Body { void run() throws Exception; }

    static int failures = 0;
    static String client = "mssql-jdbc";
    static final String HOST = System.getenv("HARDPAN_HOST"), PORT = System.getenv("HARDPAN_PORT"), PASSWORD = System.getenv("HARDPAN_PASSWORD");

    static void check(String name, Body body) {
        try {
            body.run();
            System.out.println("ok " + client + " " + name);
        } catch (Throwable error) {
            failures++;
            StackTraceElement at = Arrays.stream(error.getStackTrace()).filter(e -> (e.getClassName() + e.getMethodName()).matches("(Compat|Cursors).*") && !e.getMethodName().equals("same")).findFirst().orElse(null);
            System.out.println("not ok " + client + " " + name + ": " + error + " (" + at + ")");
        }
    }

    static void same(Object got, Object want) {
        boolean equal = got instanceof byte[] a && want instanceof byte[] b ? Arrays.equals(a, b) : String.valueOf(got).equals(String.valueOf(want));
        if (!equal) throw new AssertionError("got " + cut(got) + ", want " + cut(want));
    }

    static String cut(Object value) { String s = String.valueOf(value); return s.substring(0, Math.min(80, s.length())); }

    static SQLException refused(int number, Body body) throws Exception {
        try {
            body.run();
        } catch (SQLException error) {
            if (number != 0 && error.getErrorCode() != number) throw error;
            return error;
        }
        throw new AssertionError("no error, expected " + number);
    }

    static Connection connect(String more) throws SQLException {
        return DriverManager.getConnection("jdbc:sqlserver://" + HOST + ":" + PORT + ";databaseName=master;user=sa;password=" + PASSWORD + ";trustServerCertificate=true;loginTimeout=10;" + more);
    }

    static Connection connectOld() throws SQLException {
        return DriverManager.getConnection("jdbc:jtds:sqlserver://" + HOST + ":" + PORT + "/master;loginTimeout=10", "sa", PASSWORD);
    }

    /** SQLServerBulkCopy from a result set, and a batch of INSERTs that the driver sends as a bulk load. */
    static void bulk(Connection connection) throws Exception {
        String columns = " (i int NOT NULL PRIMARY KEY, t nvarchar(20) NULL, m varchar(max) NULL, d decimal(10,2) NULL, b varbinary(max) NULL, w datetime2(3) NULL, u uniqueidentifier NULL)";
        try (Statement s = connection.createStatement()) {
            s.execute("DROP TABLE IF EXISTS dbo.compat_jdbc_b, dbo.compat_jdbc_s; CREATE TABLE dbo.compat_jdbc_b" + columns + "; CREATE TABLE dbo.compat_jdbc_s" + columns);
            s.execute("INSERT dbo.compat_jdbc_s SELECT i, IIF(i % 2 = 1, N'\u6f22\u5b57', NULL), REPLICATE(CAST('x' AS varchar(max)), i % 7 * 1000), i / 4.0, CAST(REPLICATE('y', i % 5) AS varbinary(max)), '2024-02-29 13:14:15.123', NEWID() FROM (SELECT TOP 3000 ROW_NUMBER() OVER (ORDER BY (SELECT 1)) - 1 AS i FROM sys.all_columns a CROSS JOIN sys.all_columns c) n");
        }
        com.microsoft.sqlserver.jdbc.SQLServerBulkCopyOptions options = new com.microsoft.sqlserver.jdbc.SQLServerBulkCopyOptions();
        options.setTableLock(true);
        options.setCheckConstraints(true);
        options.setKeepNulls(true);
        try (Connection reader = connect(""); Statement s = reader.createStatement(); ResultSet rows = s.executeQuery("SELECT * FROM dbo.compat_jdbc_s");
                com.microsoft.sqlserver.jdbc.SQLServerBulkCopy copy = new com.microsoft.sqlserver.jdbc.SQLServerBulkCopy(connection)) {
            copy.setBulkCopyOptions(options);
            copy.setDestinationTableName("dbo.compat_jdbc_b");
            copy.writeToServer(rows);
        }
        same(one(connection, "SELECT COUNT(*) FROM (SELECT i, t, m, d, b, w, u FROM dbo.compat_jdbc_b INTERSECT SELECT i, t, m, d, b, w, u FROM dbo.compat_jdbc_s) x"), 3000);
        try (Connection batched = connect("useBulkCopyForBatchInsert=true"); PreparedStatement insert = batched.prepareStatement("INSERT INTO dbo.compat_jdbc_b (i, t) VALUES (?, ?)")) {
            for (int i = 5000; i < 6000; i++) {
                insert.setInt(1, i);
                insert.setString(2, "batch");
                insert.addBatch();
            }
            insert.executeBatch();
            insert.setInt(1, 5000);
            insert.setString(2, "again");
            insert.addBatch();
            same(refused(0, insert::executeBatch).getMessage().contains("PRIMARY KEY"), true);
        }
        same(one(connection, "SELECT COUNT(*) FROM dbo.compat_jdbc_b WHERE t = 'batch'"), 1000);
    }

    static Object one(Connection connection, String sql) throws SQLException {
        try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery(sql)) {
            if (!r.next()) throw new SQLException("no row");
            return r.getObject(1);
        }
    }

    static void batches(Connection connection) throws SQLException {
        try (Statement s = connection.createStatement()) {
            boolean rows = s.execute("DECLARE @i int = 1; SELECT @i; SET @i += 1; SELECT @i, N'zwei'");
            same(rows, true);
            ResultSet r = s.getResultSet();
            r.next();
            same(r.getInt(1), 1);
            same(s.getMoreResults(), true);
            r = s.getResultSet();
            r.next();
            same(r.getInt(1) + r.getString(2), "2zwei");
            same(s.getMoreResults(), false);
            same(s.getUpdateCount(), -1);
        }
    }

    static void types(Connection connection) throws SQLException {
        Timestamp moment = Timestamp.valueOf("2024-02-29 13:14:15.123");
        Object[][] cases = {
            {"bit", true, true}, {"tinyint", (short) 255, 255}, {"smallint", (short) -32768, -32768}, {"int", Integer.MIN_VALUE, Integer.MIN_VALUE},
            {"bigint", Long.MAX_VALUE, Long.MAX_VALUE}, {"decimal(38,10)", new BigDecimal("1234567890123456789.0123456789"), "1234567890123456789.0123456789"},
            {"money", new BigDecimal("922337203685477.5807"), "922337203685477.5807"}, {"smallmoney", new BigDecimal("-214748.3648"), "-214748.3648"},
            {"real", 1.5f, 1.5f}, {"float", 1.25e300, 1.25e300}, {"char(5)", "ab", "ab   "}, {"varchar(20)", "naïve", "naïve"},
            {"varchar(max)", "x".repeat(10000), "x".repeat(10000)}, {"nchar(3)", "漢", "漢  "}, {"nvarchar(20)", "漢字€", "漢字€"},
            {"nvarchar(max)", "字".repeat(5000), "字".repeat(5000)}, {"varbinary(10)", new byte[] {1, 2, -1}, new byte[] {1, 2, -1}},
            {"varbinary(max)", new byte[9000], new byte[9000]}, {"binary(4)", new byte[] {1}, new byte[] {1, 0, 0, 0}},
            {"date", Date.valueOf("2024-02-29"), "2024-02-29"}, {"datetime2(3)", moment, moment}, {"datetime", moment, moment},
            {"smalldatetime", Timestamp.valueOf("2024-02-29 13:14:00"), "2024-02-29 13:14:00.0"},
            {"int", null, null}, {"nvarchar(10)", null, null},
        };
        for (Object[] c : cases) {
            try (PreparedStatement s = connection.prepareStatement("SELECT CAST(? AS " + c[0] + ")")) {
                s.setObject(1, c[1]);
                try (ResultSet r = s.executeQuery()) {
                    r.next();
                    same(r.getObject(1), c[2]);
                } catch (AssertionError | SQLException error) {
                    throw new AssertionError(c[0] + ": " + error.getMessage(), error);
                }
            }
        }
    }

    static void errors(Connection connection, boolean lines) throws Exception {
        try (Statement s = connection.createStatement()) {
            SQLException error = refused(208, () -> s.execute("\n\nSELECT * FROM dbo.does_not_exist"));
            if (lines) same(((com.microsoft.sqlserver.jdbc.SQLServerException) error).getSQLServerError().getLineNumber(), 3L);
            refused(50000, () -> s.execute("RAISERROR('own words', 16, 1)"));
        }
        same(one(connection, "SELECT 2"), 2);
    }

    static void transactions(Connection connection, String table, boolean delayed) throws Exception {
        try (Statement s = connection.createStatement()) {
            s.execute("DROP TABLE IF EXISTS dbo." + table + "; CREATE TABLE dbo." + table + " (id int PRIMARY KEY, t nvarchar(20))");
            connection.setAutoCommit(false);
            try (PreparedStatement p = connection.prepareStatement("INSERT INTO dbo." + table + " VALUES (?, ?)")) {
                for (int i = 1; i <= 3; i++) {
                    p.setInt(1, i);
                    p.setString(2, "ä" + i);
                    p.addBatch();
                }
                same(Arrays.toString(p.executeBatch()), "[1, 1, 1]");
                connection.rollback();
                same(one(connection, "SELECT COUNT(*) FROM dbo." + table), 0);
                p.setInt(1, 1);
                p.setString(2, "ä");
                same(p.executeUpdate(), 1);
                Savepoint here = connection.setSavepoint("here");
                p.setInt(1, 2);
                same(p.executeUpdate(), 1);
                connection.rollback(here);
                if (delayed) {
                    ((com.microsoft.sqlserver.jdbc.SQLServerConnection) connection).commit(true);
                } else {
                    connection.commit();
                }
                p.setInt(1, 1);
                refused(2627, p::executeUpdate);
                connection.rollback();
            }
            connection.setAutoCommit(true);
            same(one(connection, "SELECT COUNT(*) FROM dbo." + table), 1);
        }
    }

    static void prepared(Connection connection) throws SQLException {
        try (PreparedStatement s = connection.prepareStatement("SELECT ? + 1")) {
            for (int i = 0; i < 6; i++) {
                s.setInt(1, i);
                try (ResultSet r = s.executeQuery()) {
                    r.next();
                    same(r.getInt(1), i + 1);
                }
            }
        }
    }

    static void procedure(Connection connection, String name) throws SQLException {
        try (Statement s = connection.createStatement()) {
            s.execute("CREATE OR ALTER PROCEDURE dbo." + name + " @in int, @out int OUTPUT AS BEGIN SET @out = @in * 2; RETURN 7 END");
        }
        try (CallableStatement c = connection.prepareCall("{? = call dbo." + name + "(?, ?)}")) {
            c.registerOutParameter(1, Types.INTEGER);
            c.setInt(2, 21);
            c.registerOutParameter(3, Types.INTEGER);
            c.execute();
            same(c.getInt(3), 42);
            same(c.getInt(1), 7);
        }
    }

    static void cancel(Connection connection) throws Exception {
        try (Statement s = connection.createStatement()) {
            s.setQueryTimeout(1);
            long began = System.nanoTime();
            refused(0, () -> s.execute("WAITFOR DELAY '00:00:20'"));
            if (System.nanoTime() - began > 5_000_000_000L) throw new AssertionError("too late");
        }
        same(one(connection, "SELECT 2"), 2);
    }

    static void manyRows(Connection connection) throws SQLException {
        String digits = "(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))";
        String sql = "SELECT a.n + 10*b.n + 100*c.n + 1000*d.n FROM " + digits + " a(n), " + digits + " b(n), " + digits + " c(n), " + digits + " d(n)";
        long sum = 0, count = 0;
        try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery(sql)) {
            for (; r.next(); count++) sum += r.getInt(1);
        }
        same(count + " " + sum, "10000 49995000");
    }

    public static void main(String[] arguments) throws Exception {
        String certificate = System.getenv("HARDPAN_CERTIFICATE");
        check("connect, encryption by default", () -> { try (Connection c = connect("")) { same(one(c, "SELECT 1"), 1); } });
        check("connect encrypt=false", () -> { try (Connection c = connect("encrypt=false")) { same(one(c, "SELECT 1"), 1); } });
        if (certificate != null && !certificate.isEmpty()) {
            check("connect encrypt=strict", () -> { try (Connection c = connect("encrypt=strict;serverCertificate=" + certificate)) { same(one(c, "SELECT 1"), 1); } });
        }
        check("wrong password", () -> refused(18456, () -> DriverManager.getConnection("jdbc:sqlserver://" + HOST + ":" + PORT + ";user=sa;password=wrong;trustServerCertificate=true")));
        try (Connection connection = connect("")) {
            check("server version 16", () -> same(connection.getMetaData().getDatabaseMajorVersion(), 16));
            check("multi-statement batch", () -> batches(connection));
            check("parameters of every type", () -> types(connection));
            check("errors with number and line", () -> errors(connection, true));
            check("prepared statement", () -> prepared(connection));
            check("procedure with OUTPUT", () -> procedure(connection, "compat_jdbc"));
            check("bulk copy", () -> bulk(connection));
            check("time-out cancels", () -> cancel(connection));
            check("ten thousand rows", () -> manyRows(connection));
            check("transactions", () -> transactions(connection, "compat_jdbc_t", false));
        }
        try (Connection connection = connect("")) {
            check("commit with delayed durability", () -> {
                one(connection, "SELECT 1");
                try (Statement s = connection.createStatement()) { s.execute("ALTER DATABASE CURRENT SET DELAYED_DURABILITY = ALLOWED"); } catch (SQLException onlyInUserDatabases) { }
                transactions(connection, "compat_jdbc_d", true);
            });
        }
        try { Cursors.microsoft(); } catch (SQLException error) { check("cursors", () -> { throw error; }); }
        client = "jtds";
        check("connect at TDS 7.1", () -> { try (Connection c = connectOld()) { same(one(c, "SELECT 1"), 1); } });
        try (Connection connection = connectOld()) {
            check("multi-statement batch", () -> batches(connection));
            check("errors with number", () -> errors(connection, false));
            check("prepared statement", () -> prepared(connection));
            check("transactions", () -> transactions(connection, "compat_jtds_t", false));
            Cursors.old(connection);
        } catch (SQLException error) {
            check("connect", () -> { throw error; });
        }
        System.exit(failures > 0 ? 1 : 0);
    }
}

