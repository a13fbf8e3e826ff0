// compat runs the checks of go-mssqldb against a server: connect with each encryption, batches, parameters of every
// type, errors, transactions, prepared statements, cancellation, pooling with reset.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

var failures int

func check(name string, err error) {
	if err != nil {
		failures++
		fmt.Printf("not ok go-mssqldb %s: %v\n", name, err)
		return
	}
	fmt.Printf("ok go-mssqldb %s\n", name)
}

func open(extra string) *sql.DB {
	dsn := fmt.Sprintf("sqlserver://sa:%s@%s:%s?database=master&TrustServerCertificate=true%s",
		os.Getenv("HARDPAN_PASSWORD"), os.Getenv("HARDPAN_HOST"), os.Getenv("HARDPAN_PORT"), extra)
	db, err := sql.Open("sqlserver", dsn)
	if err != nil {
		panic(err)
	}
	return db
}

func one(db *sql.DB, query string, args ...any) (any, error) {
	var value any
	err := db.QueryRow(query, args...).Scan(&value)
	return value, err
}

func connectWith(extra string) error {
	db := open(extra)
	defer db.Close()
	value, err := one(db, "SELECT 1")
	if err == nil && value != int64(1) {
		err = fmt.Errorf("SELECT 1 gave %v", value)
	}
	return err
}

func wrongPassword() error {
	dsn := fmt.Sprintf("sqlserver://sa:wrong@%s:%s?encrypt=disable", os.Getenv("HARDPAN_HOST"), os.Getenv("HARDPAN_PORT"))
	db, _ := sql.Open("sqlserver", dsn)
	defer db.Close()
	err := db.Ping()
	if err == nil || !strings.Contains(err.Error(), "Login failed for user 'sa'") {
		return fmt.Errorf("expected a failed login, got %v", err)
	}
	return nil
}

func batches(db *sql.DB) error {
	rows, err := db.Query("DECLARE @i int = 1; SELECT @i AS a; SET @i += 1; SELECT @i AS b, N'zwei' AS c; PRINT 'done'")
	if err != nil {
		return err
	}
	defer rows.Close()
	var a, b int
	var c string
	if !rows.Next() {
		return errors.New("no first row")
	}
	if err = rows.Scan(&a); err != nil {
		return err
	}
	if rows.Next() {
		return errors.New("a second row")
	}
	if !rows.NextResultSet() || !rows.Next() {
		return errors.New("no second result set")
	}
	if err = rows.Scan(&b, &c); err != nil {
		return err
	}
	if a != 1 || b != 2 || c != "zwei" {
		return fmt.Errorf("got %d %d %q", a, b, c)
	}
	return rows.Err()
}

func parameters(db *sql.DB) error {
	moment := time.Date(2024, 2, 29, 13, 14, 15, 123456700, time.UTC)
	var guid mssql.UniqueIdentifier
	if err := guid.Scan("6F9619FF-8B86-D011-B42D-00C04FC964FF"); err != nil {
		return err
	}
	cases := []struct {
		cast string
		in   any
		want string
	}{
		{"bit", true, "true"}, {"tinyint", 255, "255"}, {"smallint", -32768, "-32768"}, {"int", -2147483648, "-2147483648"},
		{"bigint", int64(9223372036854775807), "9223372036854775807"},
		{"decimal(38,10)", "1234567890123456789.0123456789", "1234567890123456789.0123456789"},
		{"money", "922337203685477.5807", "922337203685477.5807"}, {"smallmoney", "-214748.3648", "-214748.3648"},
		{"real", 1.5, "1.5"}, {"float", 1.7976931348623157e308, "1.7976931348623157e+308"},
		{"char(5)", "ab", "ab   "}, {"varchar(20)", "naïve", "naïve"}, {"varchar(max)", strings.Repeat("x", 10000), strings.Repeat("x", 10000)},
		{"nchar(3)", "漢", "漢  "}, {"nvarchar(20)", "漢字€", "漢字€"}, {"nvarchar(max)", strings.Repeat("字", 5000), strings.Repeat("字", 5000)},
		{"varbinary(10)", []byte{1, 2, 255}, "[1 2 255]"}, {"varbinary(max)", make([]byte, 9000), fmt.Sprint(make([]byte, 9000))},
		{"date", moment, "2024-02-29 00:00:00 +0000 UTC"}, {"datetime2(7)", moment, "2024-02-29 13:14:15.1234567 +0000 UTC"},
		{"datetime", moment, "2024-02-29 13:14:15.123 +0000 UTC"}, {"smalldatetime", moment, "2024-02-29 13:14:00 +0000 UTC"},
		{"time(3)", moment, "0001-01-01 13:14:15.123 +0000 UTC"},
		{"datetimeoffset(7)", moment.In(time.FixedZone("", 7200)), "2024-02-29 15:14:15.1234567 +0200 +0200"},
		{"nvarchar(10)", nil, "<nil>"}, {"int", nil, "<nil>"},
	}
	for _, one_case := range cases {
		got, err := one(db, "SELECT CAST(@p1 AS "+one_case.cast+")", one_case.in)
		if err != nil {
			return fmt.Errorf("%s: %w", one_case.cast, err)
		}
		text := fmt.Sprint(got)
		if bytes, ok := got.([]byte); ok && !strings.Contains(one_case.cast, "binary") {
			text = string(bytes)
		}
		if text != one_case.want {
			return fmt.Errorf("%s: got %.60q, want %.60q", one_case.cast, text, one_case.want)
		}
	}
	var back mssql.UniqueIdentifier
	if err := db.QueryRow("SELECT CAST(@p1 AS uniqueidentifier)", guid).Scan(&back); err != nil || back != guid {
		return fmt.Errorf("uniqueidentifier: %v %v", back, err)
	}
	return nil
}

func outputs(db *sql.DB) error {
	if _, err := db.Exec("CREATE OR ALTER PROCEDURE dbo.compat_go @in int, @out int OUTPUT AS BEGIN SET @out = @in * 2; RETURN 7 END"); err != nil {
		return err
	}
	var out int
	var status mssql.ReturnStatus
	_, err := db.Exec("dbo.compat_go", sql.Named("in", 21), sql.Named("out", sql.Out{Dest: &out}), &status)
	if err == nil && (out != 42 || status != 7) {
		err = fmt.Errorf("out %d, status %d", out, status)
	}
	return err
}

func errorsOf(db *sql.DB) error {
	_, err := db.Exec("\nSELECT 1 AS x;\nSELECT * FROM dbo.does_not_exist")
	var failure mssql.Error
	if !errors.As(err, &failure) || failure.Number != 208 || failure.LineNo != 3 {
		return fmt.Errorf("expected 208 at line 3, got %v", err)
	}
	_, err = db.Exec("RAISERROR('wörd %d', 16, 4, 7)")
	if !errors.As(err, &failure) || failure.Number != 50000 || failure.State != 4 || failure.Message != "wörd 7" {
		return fmt.Errorf("expected RAISERROR, got %v", err)
	}
	_, err = db.Exec("SELEC 1")
	if !errors.As(err, &failure) || (failure.Number != 102 && failure.Number != 2812) {
		return fmt.Errorf("expected a syntax error, got %v", err)
	}
	return nil
}

func transactions(db *sql.DB) error {
	if _, err := db.Exec("DROP TABLE IF EXISTS dbo.compat_go_t; CREATE TABLE dbo.compat_go_t (id int PRIMARY KEY, t nvarchar(20))"); err != nil {
		return err
	}
	for _, commit := range []bool{false, true} {
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelSerializable})
		if err != nil {
			return err
		}
		result, err := tx.Exec("INSERT INTO dbo.compat_go_t VALUES (@p1, @p2), (@p1 + 1, @p2)", 1, "x")
		if err != nil {
			return err
		}
		if count, _ := result.RowsAffected(); count != 2 {
			return fmt.Errorf("%d rows affected", count)
		}
		if commit {
			err = tx.Commit()
		} else {
			err = tx.Rollback()
		}
		if err != nil {
			return err
		}
	}
	value, err := one(db, "SELECT COUNT(*) FROM dbo.compat_go_t")
	if err == nil && value != int64(2) {
		err = fmt.Errorf("%v rows after commit", value)
	}
	if err != nil {
		return err
	}
	_, err = db.Exec("INSERT INTO dbo.compat_go_t VALUES (1, NULL)")
	var failure mssql.Error
	if !errors.As(err, &failure) || failure.Number != 2627 {
		return fmt.Errorf("expected 2627, got %v", err)
	}
	return nil
}

func prepared(db *sql.DB) error {
	statement, err := db.Prepare("SELECT @p1 + 1")
	if err != nil {
		return err
	}
	defer statement.Close()
	for i := 0; i < 5; i++ {
		var got int
		if err = statement.QueryRow(i).Scan(&got); err != nil || got != i+1 {
			return fmt.Errorf("%d gave %d: %v", i, got, err)
		}
	}
	return nil
}

// tables passes tables to a procedure and to a text: no rows, one, 5,001.
func tables(db *sql.DB) error {
	for _, text := range []string{
		"DROP PROCEDURE IF EXISTS dbo.compat_go_total; DROP TYPE IF EXISTS dbo.compat_go_lines",
		"CREATE TYPE dbo.compat_go_lines AS TABLE (id int IDENTITY, i int NOT NULL, t nvarchar(20) NULL)",
		"CREATE PROCEDURE dbo.compat_go_total @lines dbo.compat_go_lines READONLY AS SELECT CONCAT(COUNT(*), '|', SUM(i), '|', COUNT(t), '|', MAX(id)) FROM @lines",
	} {
		if _, err := db.Exec(text); err != nil {
			return err
		}
	}
	type line struct {
		ID int32 `tvp:"@identity"`
		I  int32
		T  *string
	}
	for _, count := range []int{0, 1, 5001} {
		lines := []line{}
		text := "x"
		for i := 1; i <= count; i++ {
			lines = append(lines, line{I: int32(i)})
			if i%2 == 1 {
				lines[i-1].T = &text
			}
		}
		want := "0||0|"
		if count > 0 {
			want = fmt.Sprintf("%d|%d|%d|%d", count, count*(count+1)/2, (count+1)/2, count)
		}
		argument := sql.Named("lines", mssql.TVP{TypeName: "dbo.compat_go_lines", Value: lines})
		for _, query := range []string{"EXEC dbo.compat_go_total @lines", "dbo.compat_go_total"} {
			value, err := one(db, query, argument)
			if err == nil && value != want {
				err = fmt.Errorf("%s gave %v, not %s", query, value, want)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func copyIn(db *sql.DB, from, to int, options mssql.BulkOptions) (int64, error) {
	transaction, err := db.Begin()
	if err != nil {
		return 0, err
	}
	defer transaction.Rollback()
	statement, err := transaction.Prepare(mssql.CopyIn("dbo.compat_go_b", options, "i", "t", "m", "d", "b", "w", "f"))
	if err != nil {
		return 0, err
	}
	moment := time.Date(2024, 2, 29, 13, 14, 15, 123000000, time.UTC)
	for i := from; i < to; i++ {
		var text any
		if i%2 == 1 {
			text = "漢字"
		}
		if _, err = statement.Exec(i, text, strings.Repeat("x", i%7*1000), float64(i)/4, make([]byte, i%5), moment, 0.5); err != nil {
			return 0, err
		}
	}
	result, err := statement.Exec()
	if err != nil {
		return 0, err
	}
	if err = transaction.Commit(); err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func bulk(db *sql.DB) error {
	if _, err := db.Exec("DROP TABLE IF EXISTS dbo.compat_go_b; CREATE TABLE dbo.compat_go_b (i int NOT NULL PRIMARY KEY, t nvarchar(20) NULL, m nvarchar(max) NULL, d decimal(10,2) NULL, b varbinary(max) NULL, w datetime2(3) NULL, f float NULL)"); err != nil {
		return err
	}
	options := mssql.BulkOptions{CheckConstraints: true, KeepNulls: true, Tablock: true, RowsPerBatch: 1000, KilobytesPerBatch: 64, Order: []string{"i"}}
	if count, err := copyIn(db, 0, 3000, options); err != nil || count != 3000 {
		return fmt.Errorf("%d rows, %v", count, err)
	}
	row := db.QueryRow("SELECT COUNT(*), COUNT(t), SUM(LEN(m)), CAST(SUM(d) AS float), SUM(DATALENGTH(b)), SUM(f) FROM dbo.compat_go_b WHERE w = '2024-02-29 13:14:15.123'")
	var count, texts, wide, bytes int64
	var sum, halves float64
	if err := row.Scan(&count, &texts, &wide, &sum, &bytes, &halves); err != nil {
		return err
	}
	if got := fmt.Sprint(count, texts, wide, sum, bytes, halves); got != "3000 1500 8994000 1.124625e+06 6000 1500" {
		return fmt.Errorf("got %s", got)
	}
	var number mssql.Error
	if _, err := copyIn(db, 2999, 3010, mssql.BulkOptions{}); !errors.As(err, &number) || number.Number != 2627 {
		return fmt.Errorf("expected 2627, got %v", err)
	}
	if count, err := one(db, "SELECT COUNT(*) FROM dbo.compat_go_b"); err != nil || count != int64(3000) {
		return fmt.Errorf("%v rows, %v", count, err)
	}
	return nil
}

func cancel(db *sql.DB) error {
	db.SetMaxOpenConns(1)
	defer db.SetMaxOpenConns(0)
	ctx, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer stop()
	began := time.Now()
	_, err := db.ExecContext(ctx, "WAITFOR DELAY '00:00:20'")
	if err == nil || time.Since(began) > 5*time.Second {
		return fmt.Errorf("not cancelled: %v after %v", err, time.Since(began))
	}
	value, err := one(db, "SELECT 2")
	if err == nil && value != int64(2) {
		err = fmt.Errorf("got %v", value)
	}
	return err
}

func pooled(db *sql.DB) error {
	db.SetMaxOpenConns(1)
	defer db.SetMaxOpenConns(0)
	if _, err := db.Exec("CREATE TABLE #pooled (i int)"); err != nil {
		return err
	}
	value, err := one(db, "SELECT OBJECT_ID('tempdb..#pooled')")
	if err == nil && value != nil {
		err = fmt.Errorf("the temporary table outlived a reset: %v", value)
	}
	return err
}

func manyRows(db *sql.DB) error {
	rows, err := db.Query("WITH d AS (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) SELECT a.n + 10*b.n + 100*c.n + 1000*d.n, N'some text' FROM d AS a, d AS b, d AS c, d AS d")
	if err != nil {
		return err
	}
	defer rows.Close()
	sum, count := 0, 0
	for rows.Next() {
		var n int
		var t string
		if err = rows.Scan(&n, &t); err != nil {
			return err
		}
		sum, count = sum+n, count+1
	}
	if count != 10000 || sum != 49995000 {
		return fmt.Errorf("%d rows, sum %d", count, sum)
	}
	return rows.Err()
}

func main() {
	check("connect encrypt=disable", connectWith("&encrypt=disable"))
	check("connect login-only encryption", connectWith("&encrypt=false"))
	check("connect encrypt=true", connectWith("&encrypt=true"))
	check("connect strict", connectWith("&encrypt=strict&certificate="+os.Getenv("HARDPAN_CERTIFICATE")+"&hostNameInCertificate=localhost"))
	check("connect packet size 32767", connectWith("&packet+size=32767"))
	check("wrong password", wrongPassword())
	db := open("")
	defer db.Close()
	check("multi-statement batch", batches(db))
	check("parameters of every type", parameters(db))
	check("procedure with OUTPUT", outputs(db))
	check("errors with number and line", errorsOf(db))
	check("transactions", transactions(db))
	check("prepared statement", prepared(db))
	check("table-valued parameters", tables(db))
	check("bulk copy", bulk(db))
	check("cancel", cancel(db))
	check("reset of pooled connections", pooled(db))
	check("ten thousand rows", manyRows(db))
	if failures > 0 {
		os.Exit(1)
	}
}
