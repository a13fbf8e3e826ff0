// Server cursors through mssql-jdbc and jTDS: scrollable and updatable result sets, selectMethod=cursor.
import com.microsoft.sqlserver.jdbc.SQLServerResultSet;
import java.sql.*;
import java.util.ArrayList;
import java.util.List;

final class Cursors {
    static final int KEYSET = SQLServerResultSet.TYPE_SS_SCROLL_KEYSET, DYNAMIC = SQLServerResultSet.TYPE_SS_SCROLL_DYNAMIC;
    static final int UPDATABLE = ResultSet.CONCUR_UPDATABLE, READ_ONLY = ResultSet.CONCUR_READ_ONLY;

    static void table(Connection connection, String name, int rows) throws SQLException {
        try (Statement s = connection.createStatement()) {
            s.execute("DROP TABLE IF EXISTS dbo." + name + "; CREATE TABLE dbo." + name + " (id int NOT NULL PRIMARY KEY, t nvarchar(20) NULL, n int NOT NULL DEFAULT 7)");
            s.execute("WITH d AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM d WHERE i < " + rows + ") INSERT dbo." + name + " (id, t) SELECT i, CONCAT(N'ä', i) FROM d OPTION (MAXRECURSION 0)");
        }
    }

    static void scroll(Connection connection, int type, int concurrency, int fetchSize) throws SQLException {
        table(connection, "compat_scroll", 300);
        try (Statement s = connection.createStatement(type, concurrency)) {
            s.setFetchSize(fetchSize);
            ResultSet r = s.executeQuery("SELECT id, t FROM dbo.compat_scroll ORDER BY id");
            Compat.same(r.getMetaData().getColumnCount(), 2);
            boolean knowsPlace = type != DYNAMIC; // the driver does not ask a dynamic cursor where it stands
            if (knowsPlace) Compat.same(r.isBeforeFirst(), true);
            int seen = 0;
            while (r.next()) Compat.same(r.getInt(1), ++seen);
            Compat.same(seen, 300);
            if (knowsPlace) Compat.same(r.isAfterLast(), true);
            while (r.previous()) Compat.same(r.getInt("id"), seen--);
            Compat.same(seen, 0);
            Compat.same(r.last(), true);
            Compat.same(r.getString(2), "ä300");
            Compat.same(r.first(), true);
            Compat.same(r.getInt(1), 1);
            Compat.same(r.relative(150), true);
            Compat.same(r.getInt(1), 151);
            Compat.same(r.relative(-120), true);
            Compat.same(r.getInt(1), 31);
            Compat.same(r.relative(-31), false);
            if (knowsPlace) {
                Compat.same(r.isBeforeFirst(), true);
                Compat.same(r.absolute(250), true);
                Compat.same(r.getRow(), 250);
                Compat.same(r.absolute(-1), true);
                Compat.same(r.getInt(1), 300);
                Compat.same(r.absolute(301), false);
                Compat.same(r.isAfterLast(), true);
            }
        }
    }

    static void few(Connection connection, int type) throws SQLException {
        try (Statement s = connection.createStatement(type, READ_ONLY)) {
            ResultSet none = s.executeQuery("SELECT id FROM dbo.compat_scroll WHERE id < 0");
            Compat.same(none.next(), false);
            Compat.same(none.last(), false);
            ResultSet one = s.executeQuery("SELECT id FROM dbo.compat_scroll WHERE id = 5");
            Compat.same(one.last(), true);
            if (type != DYNAMIC) Compat.same(one.isFirst(), true);
            Compat.same(one.previous(), false);
            ResultSet copy = s.executeQuery("SELECT COUNT(*), MAX(a.id) FROM dbo.compat_scroll a JOIN dbo.compat_scroll b ON a.id = b.id");
            Compat.same(copy.next(), true);
            Compat.same(copy.getInt(1), 300);
        }
        // What cannot have a cursor is executed directly.
        try (Statement s = connection.createStatement(type, READ_ONLY)) {
            Compat.same(s.execute("SELECT 1; SELECT 2"), true);
            s.getResultSet().next();
            Compat.same(s.getMoreResults(), true);
            Compat.refused(208, () -> s.executeQuery("SELECT * FROM dbo.does_not_exist"));
            ResultSet r = s.executeQuery("SELECT 3");
            r.next();
            Compat.same(r.getInt(1), 3);
        } catch (Exception error) {
            throw error instanceof SQLException e ? e : new SQLException(error);
        }
    }

    static void change(Connection connection, int type, int concurrency) throws SQLException {
        table(connection, "compat_change", 5);
        try (Statement s = connection.createStatement(type, concurrency)) {
            ResultSet r = s.executeQuery("SELECT id, t AS words, n FROM dbo.compat_change");
            r.next();
            r.updateString("words", "neu");
            r.updateInt(3, 70);
            r.updateRow();
            Compat.same(r.getString(2), "neu");
            Compat.same(r.rowUpdated(), false);
            r.next();
            r.updateNull(2);
            r.updateRow();
            r.next();
            r.deleteRow();
            Compat.same(r.next(), true);
            Compat.same(r.getInt(1), 4);
            r.moveToInsertRow();
            r.updateInt(1, 60);
            r.updateString(2, "sechs");
            r.insertRow();
            r.moveToCurrentRow();
            Compat.same(r.getInt(1), 4);
            if (type != ResultSet.TYPE_FORWARD_ONLY) {
                Compat.same(r.last(), true);
                Compat.same(r.getInt(1), 60);
                Compat.same(r.first(), true);
                r.refreshRow();
                Compat.same(r.getString(2), "neu");
            }
        }
        Compat.same(rows(connection, "SELECT CONCAT(id, '|', t, '|', n) FROM dbo.compat_change ORDER BY id"), "[1|neu|70, 2||7, 4|ä4|7, 5|ä5|7, 60|sechs|7]");
    }

    static List<String> rows(Connection connection, String sql) throws SQLException {
        List<String> rows = new ArrayList<>();
        try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery(sql)) {
            while (r.next()) rows.add(r.getString(1));
        }
        return rows;
    }

    /** Rows that another connection changes or deletes while the cursor is open. */
    static void others(Connection connection, Connection other) throws Exception {
        table(connection, "compat_others", 5);
        try (Statement s = connection.createStatement(KEYSET, UPDATABLE); Statement o = other.createStatement()) {
            s.setFetchSize(2);
            ResultSet r = s.executeQuery("SELECT id, t, n FROM dbo.compat_others");
            r.next();
            o.execute("UPDATE dbo.compat_others SET n = 100 WHERE id = 1; DELETE dbo.compat_others WHERE id = 4");
            r.updateInt(3, 1);
            Compat.refused(16934, r::updateRow);
            r.refreshRow();
            Compat.same(r.getInt(3), 100);
            r.updateInt(3, 101);
            r.updateRow();
            r.absolute(4);
            Compat.same(r.rowDeleted(), true);
            Compat.same(r.next(), true);
            Compat.same(r.getInt(1), 5);
        }
        Compat.same(Compat.one(connection, "SELECT n FROM dbo.compat_others WHERE id = 1"), 101);
    }

    static void prepared(Connection connection) throws SQLException {
        table(connection, "compat_prepared", 50);
        try (PreparedStatement p = connection.prepareStatement("SELECT id, t FROM dbo.compat_prepared WHERE id > ? ORDER BY id", KEYSET, UPDATABLE)) {
            for (int from : new int[] {10, 20, 50, 45}) {
                p.setInt(1, from);
                try (ResultSet r = p.executeQuery()) {
                    Compat.same(r.last(), from < 50);
                    if (from == 50) continue;
                    Compat.same(r.getInt(1), 50);
                    Compat.same(r.getRow(), 50 - from);
                    r.updateString(2, "from " + from);
                    r.updateRow();
                }
            }
        }
        Compat.same(Compat.one(connection, "SELECT t FROM dbo.compat_prepared WHERE id = 50"), "from 45");
        try (PreparedStatement p = connection.prepareStatement("INSERT dbo.compat_prepared (id) VALUES (?)", ResultSet.TYPE_SCROLL_INSENSITIVE, READ_ONLY)) {
            p.setInt(1, 51);
            Compat.same(p.executeUpdate(), 1);
            p.setInt(1, 52);
            Compat.same(p.execute(), false);
            Compat.same(p.getUpdateCount(), 1);
        }
    }

    static void procedure(Connection connection) throws SQLException {
        try (Statement s = connection.createStatement()) {
            s.execute("CREATE OR ALTER PROCEDURE dbo.compat_cursor_one @from int AS SELECT id, t FROM dbo.compat_prepared WHERE id > @from ORDER BY id");
            s.execute("CREATE OR ALTER PROCEDURE dbo.compat_cursor_two AS BEGIN SELECT 1; SELECT 2 END");
        }
        try (CallableStatement c = connection.prepareCall("{call dbo.compat_cursor_one(?)}", ResultSet.TYPE_SCROLL_INSENSITIVE, READ_ONLY)) {
            c.setInt(1, 48);
            ResultSet r = c.executeQuery();
            Compat.same(r.last(), true);
            Compat.same(r.getRow(), 4);
            Compat.same(r.absolute(1), true);
            Compat.same(r.getInt(1), 49);
        }
        try (CallableStatement c = connection.prepareCall("{call dbo.compat_cursor_two}", ResultSet.TYPE_SCROLL_INSENSITIVE, READ_ONLY)) {
            Compat.same(c.execute(), true);
            Compat.same(c.getMoreResults(), true);
            ResultSet r = c.getResultSet();
            r.next();
            Compat.same(r.getInt(1), 2);
        }
    }

    static void transactions(Connection connection) throws SQLException {
        table(connection, "compat_cursor_tran", 10);
        connection.setAutoCommit(false);
        try (Statement s = connection.createStatement(KEYSET, UPDATABLE)) {
            s.setFetchSize(3);
            ResultSet r = s.executeQuery("SELECT id, n FROM dbo.compat_cursor_tran");
            r.next();
            r.updateInt(2, 8);
            r.updateRow();
            connection.commit();
            Compat.same(r.absolute(5), true);
            r.updateInt(2, 9);
            r.updateRow();
            connection.rollback();
            r.close();
        } finally {
            connection.setAutoCommit(true);
        }
        Compat.same(rows(connection, "SELECT n FROM dbo.compat_cursor_tran WHERE id IN (1, 5) ORDER BY id"), "[8, 7]");
        connection.setHoldability(ResultSet.CLOSE_CURSORS_AT_COMMIT);
        connection.setAutoCommit(false);
        try (Statement s = connection.createStatement(KEYSET, READ_ONLY)) {
            s.setFetchSize(3);
            ResultSet r = s.executeQuery("SELECT id, n FROM dbo.compat_cursor_tran");
            r.next();
            connection.commit();
            Compat.refused(16917, () -> r.absolute(5));
        } catch (Exception error) {
            throw error instanceof SQLException e ? e : new SQLException(error);
        } finally {
            connection.setAutoCommit(true);
            connection.setHoldability(ResultSet.HOLD_CURSORS_OVER_COMMIT);
        }
    }

    static void selectMethod() throws SQLException {
        try (Connection connection = Compat.connect("selectMethod=cursor;"); Statement a = connection.createStatement(); Statement b = connection.createStatement()) {
            table(connection, "compat_select_method", 500);
            ResultSet outer = a.executeQuery("SELECT id FROM dbo.compat_select_method ORDER BY id");
            int rows = 0;
            while (outer.next()) {
                ResultSet inner = b.executeQuery("SELECT t FROM dbo.compat_select_method WHERE id = " + outer.getInt(1));
                Compat.same(inner.next(), true);
                Compat.same(inner.getString(1), "ä" + ++rows);
            }
            Compat.same(rows, 500);
        }
    }

    static void microsoft() throws SQLException {
        try (Connection c = Compat.connect(""); Connection other = Compat.connect("")) {
            Compat.check("scrolls a static cursor", () -> scroll(c, ResultSet.TYPE_SCROLL_INSENSITIVE, READ_ONLY, 100));
            Compat.check("scrolls a keyset cursor", () -> scroll(c, KEYSET, READ_ONLY, 100));
            Compat.check("scrolls an updatable keyset cursor", () -> scroll(c, ResultSet.TYPE_SCROLL_SENSITIVE, UPDATABLE, 100));
            Compat.check("scrolls a dynamic cursor", () -> scroll(c, DYNAMIC, UPDATABLE, 100));
            Compat.check("cursors of no row, one, and of no cursor", () -> {
                few(c, ResultSet.TYPE_SCROLL_INSENSITIVE);
                few(c, KEYSET);
                few(c, DYNAMIC);
            });
            Compat.check("changes rows of a keyset cursor", () -> change(c, KEYSET, UPDATABLE));
            Compat.check("changes rows of a cursor with locks", () -> change(c, KEYSET, SQLServerResultSet.CONCUR_SS_SCROLL_LOCKS));
            Compat.check("changes rows of a dynamic cursor", () -> change(c, DYNAMIC, SQLServerResultSet.CONCUR_SS_OPTIMISTIC_CCVAL));
            Compat.check("changes rows of a forward only cursor", () -> change(c, ResultSet.TYPE_FORWARD_ONLY, UPDATABLE));
            Compat.check("cursors see the changes of others", () -> others(c, other));
            Compat.check("cursors of prepared statements", () -> prepared(c));
            Compat.check("cursors over procedures", () -> procedure(c));
            Compat.check("cursors and transactions", () -> transactions(c));
        }
        Compat.check("selectMethod=cursor", Cursors::selectMethod);
    }

    static void old(Connection connection) {
        Compat.check("scrolls a static cursor", () -> scroll(connection, ResultSet.TYPE_SCROLL_INSENSITIVE, READ_ONLY, 1));
        Compat.check("changes rows of a keyset cursor", () -> {
            table(connection, "compat_jtds", 3);
            try (Statement s = connection.createStatement(ResultSet.TYPE_SCROLL_SENSITIVE, UPDATABLE)) {
                ResultSet r = s.executeQuery("SELECT id, t FROM dbo.compat_jtds");
                r.next();
                r.updateString(2, "neu");
                r.updateRow();
                r.absolute(3);
                r.deleteRow();
            }
            Compat.same(rows(connection, "SELECT CONCAT(id, t) FROM dbo.compat_jtds ORDER BY id"), "[1neu, 2ä2]");
        });
    }
}
