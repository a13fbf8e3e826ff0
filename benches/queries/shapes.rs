//! Works that are not TPC-H queries: scans, reads of the ends of an index, unions of indexes, bulk changes.

/// A work: a statement to run once before it, the timed statement, a statement to run after it, and the runs in one measurement.
pub struct Shape {
    pub name: &'static str,
    pub before: &'static str,
    pub text: &'static str,
    pub after: &'static str,
    pub times: u32,
}

const fn scan(name: &'static str, text: &'static str) -> Shape {
    Shape { name, before: "", text, after: "", times: 3 }
}

const fn look(name: &'static str, text: &'static str) -> Shape {
    Shape { name, before: "", text, after: "", times: 200 }
}

/// On a narrow table with a text of fixed length, which all rows share.
const fn padded(name: &'static str, text: &'static str) -> Shape {
    Shape {
        name,
        before: "create table padded (k int not null primary key, n int not null, pad char(60) not null);
            insert into padded select o_orderkey, o_custkey, 'the same' from orders",
        text,
        after: "drop table padded",
        times: 1,
    }
}

/// All works. An empty copy of a table has neither key nor index in both dialects.
pub const SHAPES: [Shape; 33] = [
    scan("COUNT(*) of all lines", "select count(*) from lineitem"),
    scan("SUM of a column", "select sum(l_extendedprice) from lineitem"),
    scan("filter without an index", "select count(*) from lineitem where l_quantity < 10 and l_discount > 0.05"),
    scan("LIKE", "select count(*) from lineitem where l_comment like '%express%'"),
    scan("IN list", "select count(*) from lineitem where l_shipmode in ('AIR', 'MAIL', 'SHIP')"),
    scan("group by one column", "select l_shipmode, count(*) from lineitem group by l_shipmode order by l_shipmode"),
    scan("DISTINCT of few values", "select count(*) from (select distinct l_shipmode from lineitem) as x"),
    Shape {
        times: 3,
        ..padded("filter on a char(60)", "select count(*) from padded where k > 10 and pad = 'the same'")
    },
    Shape {
        times: 3,
        ..padded("filter on an int, the same table", "select count(*) from padded where k > 10 and n < 2000000000")
    },
    scan(
        "all orders to the client",
        "select o_orderkey, o_custkey, o_totalprice, o_orderdate from orders order by o_orderkey",
    ),
    scan(
        "all orders to the client, sorted",
        "select o_orderkey, o_custkey, o_totalprice, o_orderdate from orders order by o_totalprice, o_orderkey",
    ),
    scan(
        "TOP 10 by a column without an index",
        "select «top 10» o_orderkey, o_totalprice from orders order by o_totalprice desc, o_orderkey «limit 10»",
    ),
    scan(
        "ROW_NUMBER for each customer",
        "select max(n) from (select row_number() over (partition by o_custkey order by o_orderdate, o_orderkey) as n
            from orders) as x",
    ),
    scan(
        "running SUM for each customer",
        "select max(s) from (select sum(o_totalprice) over (partition by o_custkey order by o_orderkey
            rows unbounded preceding) as s from orders) as x",
    ),
    scan(
        "RANK by a column without an index",
        "select max(r) from (select rank() over (order by o_totalprice) as r from orders) as x",
    ),
    scan(
        "subquery in the select list, by a key",
        "select max(n) from (select (select c_name from customer where c_custkey = o_custkey) as n from orders) as x",
    ),
    scan(
        "COUNT in the select list",
        "select sum(n) from (select (select count(*) from orders where o_custkey = c_custkey) as n from customer) as x",
    ),
    scan(
        "wide range of a secondary index",
        "select sum(l_extendedprice) from lineitem where l_shipdate >= '1993-01-01' and l_shipdate < '1997-01-01'",
    ),
    look("MIN of an indexed column", "select min(o_orderdate) from orders"),
    look("MIN and MAX of an indexed column", "select min(o_orderdate), max(o_orderdate) from orders"),
    look("MAX of an indexed column", "select max(o_orderdate) from orders"),
    look("TOP 10 by the key", "select «top 10» o_orderkey, o_totalprice from orders order by o_orderkey «limit 10»"),
    look(
        "TOP 10 by the key, backwards",
        "select «top 10» o_orderkey, o_totalprice from orders order by o_orderkey desc «limit 10»",
    ),
    look("TOP 10 by a secondary index", "select «top 10» l_shipdate from lineitem order by l_shipdate «limit 10»"),
    look(
        "TOP 10 by a secondary index, backwards",
        "select «top 10» l_shipdate from lineitem order by l_shipdate desc «limit 10»",
    ),
    Shape {
        times: 10,
        ..look(
            "OFFSET 50,000 by the key",
            "select o_orderkey from orders order by o_orderkey offset 50000 rows fetch next 10 rows only",
        )
    },
    look("one row by its key", "select o_totalprice from orders where o_orderkey = 4001"),
    look(
        "OR of two indexed columns",
        "select o_orderkey from orders where o_custkey = 370 or o_orderkey = 4001 order by o_orderkey",
    ),
    look(
        "three tables for one customer",
        "select sum(l_extendedprice) from customer join orders on o_custkey = c_custkey
            join lineitem on l_orderkey = o_orderkey where c_custkey = 370",
    ),
    Shape {
        name: "CREATE INDEX on all lines",
        before: "",
        text: "create index lineitem_price on lineitem (l_extendedprice)",
        after: "drop index lineitem_price «on lineitem|»",
        times: 1,
    },
    Shape {
        name: "INSERT SELECT of all lines",
        before: "create table copy_of_lines (a int not null, b int not null, c decimal(15,2), d varchar(44))",
        text: "insert into copy_of_lines select l_orderkey, l_linenumber, l_extendedprice, l_comment from lineitem",
        after: "drop table copy_of_lines",
        times: 1,
    },
    Shape {
        name: "UPDATE of a tenth of the orders",
        before: "",
        text: "update orders set o_shippriority = o_shippriority + 1 where o_orderkey % 10 = 1",
        // Q3 reads the column, and the engines run the statement a different number of times.
        after: "update orders set o_shippriority = 0 where o_orderkey % 10 = 1",
        times: 1,
    },
    Shape {
        name: "DELETE of half of the orders' copy, two indexes",
        before: "create table copy_of_orders (k int not null primary key, c int not null, p decimal(15,2) not null);
            insert into copy_of_orders select o_orderkey, o_custkey, o_totalprice from orders;
            create index copy_customer on copy_of_orders (c)",
        text: "delete from copy_of_orders where k % 2 = 0",
        after: "drop table copy_of_orders",
        times: 1,
    },
];
