//! The windows that a WINDOW clause names: a window may refer to another one, in any order.

use tsql::ast;
use types::SqlError;

type Named = (ast::Ident, ast::Window);

/// Checks a WINDOW clause as a whole, whether its windows are used or not. Errors 4123, 5362, 5365, 16211.
pub(super) fn check(windows: &[Named]) -> Result<(), SqlError> {
    for (at, (name, window)) in windows.iter().enumerate() {
        if windows[..at].iter().any(|earlier| earlier.0.is(&name.value)) {
            return Err(SqlError::new(16211, &[]));
        }
        resolved(window, windows, &mut vec![name.value.clone()])?;
    }
    Ok(())
}

/// A window with all parts of those that it names. Errors 4123, 5362, 5365. `inside` are the windows that are being resolved, the outermost one first.
pub(super) fn resolved(
    over: &ast::Window,
    windows: &[Named],
    inside: &mut Vec<String>,
) -> Result<ast::Window, SqlError> {
    let Some(name) = &over.name else {
        return Ok(over.clone());
    };
    // A window does not see its own name.
    let found = windows
        .iter()
        .find(|window| window.0.is(&name.value))
        .filter(|_| !inside.last().is_some_and(|own| name.is(own)))
        .ok_or_else(|| SqlError::new(5362, &[&name.value]))?;
    if inside.iter().any(|other| name.is(other)) {
        return Err(SqlError::new(5365, &[]));
    }
    inside.push(name.value.clone());
    let mut window = resolved(&found.1, windows, inside)?;
    inside.pop();
    let is_said_twice = !over.partition_by.is_empty() && !window.partition_by.is_empty()
        || !over.order_by.is_empty() && !window.order_by.is_empty()
        || over.frame.is_some() && window.frame.is_some();
    if is_said_twice {
        let state = if window.frame.is_some() { 2 } else { 3 };
        return Err(SqlError::new(4123, &[]).with_state(state));
    }
    if !over.partition_by.is_empty() {
        window.partition_by.clone_from(&over.partition_by);
    }
    if !over.order_by.is_empty() {
        window.order_by.clone_from(&over.order_by);
    }
    if over.frame.is_some() {
        window.frame.clone_from(&over.frame);
    }
    Ok(window)
}
