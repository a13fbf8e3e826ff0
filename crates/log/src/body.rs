//! Record payloads decoded by operation: the one table from operation to payload, which redo's readers of single kinds, `hardpan log dump`
//! and fn_dblog share.
//!
//! To add a payload: a variant, its line in [`Body::decode`] and its line in [`Body::describe`].

use std::fmt::Write as _;

use crate::bulk_records::{PageRows, TreePage};
use crate::codec::DecodeError;
use crate::page_records::{
    Expunge, HeapAppend, HeapRow, LobPage, MapBits, RootGrow, RowPatch, TreeRow, TreeSplit, TreeUnlink,
    UnitCreate, page_name,
};
use crate::record::{LogContext, LogOp, RecordHeader};
use crate::records::{
    AbortXact, BeginCkpt, BeginXact, CommitXact, EndCkpt, MarkSavepoint, Payload, PrepXact, XactCkpt,
};

/// A record's payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// LOP_BEGIN_XACT.
    BeginXact(BeginXact),
    /// LOP_COMMIT_XACT.
    CommitXact(CommitXact),
    /// LOP_ABORT_XACT.
    AbortXact(AbortXact),
    /// LOP_PREP_XACT.
    PrepXact(PrepXact),
    /// LOP_MARK_SAVEPOINT.
    MarkSavepoint(MarkSavepoint),
    /// LOP_BEGIN_CKPT.
    BeginCkpt(BeginCkpt),
    /// LOP_XACT_CKPT.
    XactCkpt(XactCkpt),
    /// LOP_END_CKPT.
    EndCkpt(EndCkpt),
    /// LOP_INSERT_ROWS and LOP_DELETE_ROWS in a heap.
    HeapRow(HeapRow<'a>),
    /// The same in a tree.
    TreeRow(TreeRow<'a>),
    /// LOP_INSERT_ROWS and LOP_DELETE_ROWS of several rows of a page.
    PageRows(PageRows<'a>),
    /// LOP_MODIFY_ROW.
    RowPatch(RowPatch<'a>),
    /// LOP_EXPUNGE_ROWS.
    Expunge(Expunge),
    /// LOP_CREATE_ALLOCCHAIN.
    UnitCreate(UnitCreate),
    /// LOP_FORMAT_PAGE in a heap.
    HeapAppend(HeapAppend),
    /// LOP_FORMAT_PAGE in a tree that is built.
    TreePage(TreePage<'a>),
    /// LOP_FORMAT_PAGE of a large object.
    LobPage(LobPage<'a>),
    /// LOP_DELETE_SPLIT.
    TreeSplit(TreeSplit<'a>),
    /// LOP_ROOT_CHANGE.
    RootGrow(RootGrow<'a>),
    /// LOP_MODIFY_HEADER.
    TreeUnlink(TreeUnlink),
    /// LOP_SET_BITS.
    MapBits(MapBits),
}

impl<'a> Body<'a> {
    /// The table: which payload an operation carries. `None`: no typed form is known.
    pub fn decode(
        op: LogOp,
        context: LogContext,
        payload: &'a [u8],
    ) -> Option<Result<Body<'a>, DecodeError>> {
        use LogContext as Lcx;
        use LogOp as Lop;
        Some(match (op, context) {
            (Lop::BeginXact, _) => BeginXact::decode(payload).map(Body::BeginXact),
            (Lop::CommitXact, _) => CommitXact::decode(payload).map(Body::CommitXact),
            (Lop::AbortXact, _) => AbortXact::decode(payload).map(Body::AbortXact),
            (Lop::PrepXact, _) => PrepXact::decode(payload).map(Body::PrepXact),
            (Lop::MarkSavepoint, _) => MarkSavepoint::decode(payload).map(Body::MarkSavepoint),
            (Lop::BeginCkpt, _) => BeginCkpt::decode(payload).map(Body::BeginCkpt),
            (Lop::XactCkpt, _) => XactCkpt::decode(payload).map(Body::XactCkpt),
            (Lop::EndCkpt, _) => EndCkpt::decode(payload).map(Body::EndCkpt),
            (Lop::InsertRows | Lop::DeleteRows, Lcx::Heap) => HeapRow::decode(payload).map(Body::HeapRow),
            (Lop::InsertRows | Lop::DeleteRows, Lcx::MarkAsGhost | Lcx::BulkOperationPage) => {
                PageRows::decode(payload).map(Body::PageRows)
            }
            (Lop::InsertRows | Lop::DeleteRows, _) => TreeRow::decode(payload).map(Body::TreeRow),
            (Lop::ModifyRow, _) => RowPatch::decode(payload).map(Body::RowPatch),
            (Lop::ExpungeRows, _) => Expunge::decode(payload).map(Body::Expunge),
            (Lop::CreateAllocchain, _) => UnitCreate::decode(payload).map(Body::UnitCreate),
            (Lop::FormatPage, Lcx::Heap) => HeapAppend::decode(payload).map(Body::HeapAppend),
            (Lop::FormatPage, Lcx::Clustered | Lcx::IndexLeaf | Lcx::IndexInterior) => {
                TreePage::decode(payload).map(Body::TreePage)
            }
            (Lop::FormatPage, _) => LobPage::decode(payload).map(Body::LobPage),
            (Lop::DeleteSplit, _) => TreeSplit::decode(payload).map(Body::TreeSplit),
            (Lop::RootChange, _) => RootGrow::decode(payload).map(Body::RootGrow),
            (Lop::ModifyHeader, _) => TreeUnlink::decode(payload).map(Body::TreeUnlink),
            (Lop::SetBits, _) => MapBits::decode(payload).map(Body::MapBits),
            _ => return None,
        })
    }

    /// One readable line.
    pub fn describe(&self) -> String {
        match self {
            Body::BeginXact(begin) => begin.describe(),
            Body::CommitXact(commit) => commit.describe(),
            Body::AbortXact(abort) => abort.describe(),
            Body::PrepXact(prepare) => prepare.describe(),
            Body::MarkSavepoint(savepoint) => savepoint.describe(),
            Body::BeginCkpt(begin) => begin.describe(),
            Body::XactCkpt(active) => active.describe(),
            Body::EndCkpt(end) => end.describe(),
            Body::HeapRow(row) => row.describe(),
            Body::TreeRow(row) => row.describe(),
            Body::PageRows(rows) => rows.describe(),
            Body::RowPatch(patch) => patch.describe(),
            Body::Expunge(expunge) => {
                format!("page {} {} ghosts", page_name(expunge.page), expunge.slots.len())
            }
            Body::UnitCreate(create) => {
                format!("unit {} first page {}", create.unit, page_name(create.page))
            }
            Body::HeapAppend(append) => {
                let (page, previous) = (page_name(append.page), page_name(append.previous));
                format!("unit {} page {page} after {previous}", append.unit)
            }
            Body::TreePage(page) => page.describe(),
            Body::LobPage(lob) => {
                format!("unit {} page {} {} bytes", lob.unit, page_name(lob.page), lob.data.len())
            }
            Body::TreeSplit(split) => {
                let (left, right) = (page_name(split.left), page_name(split.right));
                format!("page {left} splits, {} rows to {right}", split.rows.len())
            }
            Body::RootGrow(grow) => {
                format!("root {} gets child {}", page_name(grow.root), page_name(grow.child))
            }
            Body::TreeUnlink(unlink) => format!("page {} leaves its tree", page_name(unlink.page)),
            Body::MapBits(bits) => bits.describe(),
        }
    }
}

/// One line about a record, for fn_dblog's Description column and `hardpan log dump`. A payload without a typed form, or one that does not
/// decode, is shown as bytes.
pub fn describe(header: &RecordHeader, payload: &[u8]) -> String {
    let mut text = String::new();
    if header.is_compensation() {
        let _ = write!(text, "COMPENSATION;undo next {};", header.undo_next);
    }
    match Body::decode(header.op, header.context, payload) {
        Some(Ok(body)) => text.push_str(&body.describe()),
        Some(Err(error)) => {
            let _ = write!(text, "{error}; {}", describe_bytes(payload));
        }
        None => text.push_str(&describe_bytes(payload)),
    }
    text
}

fn describe_bytes(payload: &[u8]) -> String {
    let mut text = format!("{} bytes", payload.len());
    for (index, byte) in payload.iter().take(32).enumerate() {
        let _ = write!(text, "{}{byte:02x}", if index == 0 { ": " } else { "" });
    }
    if payload.len() > 32 {
        text.push_str("..");
    }
    text
}
