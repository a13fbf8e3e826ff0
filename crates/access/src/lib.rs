//! Heaps, B+trees and allocation over pages inside transactions, with their redo and undo.
