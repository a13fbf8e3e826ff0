//! Measures the cost of a loop: `WHILE @i <= n`, `SET @i += 1` and a single-row INSERT, each compiled once.
//! Run with `cargo run --release -p hardpan-query --example loops`.

use engine::{CreateDatabaseOptions, Instance, InstanceOptions, TransactionSet};
use hardpan_query::{
    BindContext, ColumnDescription, ExecContext, Flow, NoNames, RowSink, SessionState, SetOptions,
    VariableDef, compile, compile_predicate, compile_scalar, ddl,
};
use tsql::ast::{ExprKind, StatementKind};
use types::{SqlError, SqlType, Value};

struct Nobody;

impl SessionState for Nobody {
    fn session_id(&self) -> i16 {
        1
    }
    fn login_name(&self) -> &str {
        "sa"
    }
}

impl RowSink for Nobody {
    fn columns(&mut self, _: &[ColumnDescription]) -> Flow {
        Flow::Continue
    }
    fn row(&mut self, _: &[Value]) -> Flow {
        Flow::Continue
    }
    fn message(&mut self, _: &SqlError) {}
}

const ITERATIONS: u64 = 10_000_000;
const INSERTS: u64 = 300_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("hardpan-loops-{}", std::process::id()));
    let os = os::Os::real();
    let instance =
        Instance::open(&os, &InstanceOptions { background: false, ..InstanceOptions::new(&directory) })?;
    let database =
        instance.create_database(&CreateDatabaseOptions { name: "db".into(), ..Default::default() })?;
    let mut transactions = TransactionSet::new(&instance, 1);
    transactions.enter_database("db")?;
    let reader = TransactionSet::new(&instance, 2);
    let options = SetOptions::default();
    let variables = [VariableDef { name: "@i".into(), sql_type: SqlType::Int }];
    let mut values = [Value::Int(0)];
    let parse = |sql: &str| {
        tsql::parse_batch(sql, &tsql::ParseOptions::default()).map_err(|errors| format!("{errors:?}"))
    };
    let bind = BindContext {
        instance: &instance,
        database: &database,
        default_schema: "dbo",
        variables: &variables,
        options: &options,
        names: &NoNames,
        lookup: engine::Lookup::new(&reader),
        undeclared: None,
        missing: None,
        in_function: false,
        trigger: None,
    };
    let mut context = ExecContext {
        instance: &instance,
        database: &database,
        variables: &mut values,
        transactions: &mut transactions,
        state: &Nobody,
        functions: &plan_ir::context::NoFunctions,
        options: &options,
        names: &NoNames,
        front_end: hardpan_query::FRONT_END,
        trigger: None,
    };

    let batch = parse("WHILE @i <= 10000000 PRINT @i + 1")?;
    let StatementKind::While(node) = &batch.statements[0].kind else { return Err("not a WHILE".into()) };
    let StatementKind::Print(step) = &node.body.kind else { return Err("not a PRINT".into()) };
    assert!(matches!(step.kind, ExprKind::Arithmetic(_)), "the step is an addition");
    let condition = compile_predicate(&node.condition, &bind)?;
    let step = compile_scalar(step, Some(&SqlType::Int), &bind)?;
    let start = os.clock().monotonic_ns();
    while condition.eval_predicate(&mut context)? {
        step.assign(0, &mut context)?;
    }
    let per = (os.clock().monotonic_ns() - start) as f64 / ITERATIONS as f64;
    println!("WHILE @i <= n + SET @i += 1: {per:.1} ns an iteration");

    let create = "CREATE TABLE dbo.t (col1 int NOT NULL)";
    ddl::execute(&parse(create)?.statements[0], create, &mut context)?;
    context.transactions.commit(None)?;
    let insert = parse("INSERT INTO dbo.t (col1) VALUES (@i)")?;
    let insert = compile(&insert.statements[0], &bind)?;
    let start = os.clock().monotonic_ns();
    for _ in 0..INSERTS {
        insert.execute(&mut context, &mut Nobody)?;
    }
    let per_query = (os.clock().monotonic_ns() - start) as f64 / INSERTS as f64;
    context.transactions.commit(None)?;

    let Some(engine::ObjectDef::Table(definition)) = database.catalog().find("dbo", "t") else {
        return Err("no table".into());
    };
    let table = database.table(&definition);
    let start = os.clock().monotonic_ns();
    for _ in 0..INSERTS {
        let transaction = context.transactions.in_database(&database, options.isolation)?;
        table.insert(transaction, &[Value::Int(5)])?;
    }
    let per_engine = (os.clock().monotonic_ns() - start) as f64 / INSERTS as f64;
    context.transactions.commit(None)?;
    println!(
        "INSERT VALUES in one transaction: {per_query:.0} ns a row, engine alone {per_engine:.0} ns, overhead {:.0} ns",
        per_query - per_engine
    );
    instance.shutdown();
    os.disk().list(&directory)?;
    Ok(())
}
