//! Payloads of the records about pages: rows, tree structure, allocation, large objects. The table of body.rs maps operations to payloads.
//!
//! A page address is the file and page number in one number (`file << 32 | page`), written as one varint when the file is number 1.
//! Rows and keys are borrowed in both directions: encoding and decoding copy nothing that need not be copied. In a database that
//! is never redone (tempdb) the redo images are empty (claims 82, 83).

use crate::codec::{DecodeError, Reader, put_bytes, put_varint};

/// Appends a page address.
pub fn put_page(out: &mut Vec<u8>, page: u64) {
    let (file, number) = (page >> 32, page & 0xffff_ffff);
    assert!(file <= u64::from(u16::MAX), "a page address has 48 bits");
    if file == 1 {
        put_varint(out, number << 1);
    } else {
        put_varint(out, number << 1 | 1);
        put_varint(out, file);
    }
}

/// Reads a page address.
pub fn take_page(reader: &mut Reader<'_>) -> Result<u64, DecodeError> {
    let number = reader.varint()?;
    if number >> 33 != 0 {
        return Err(DecodeError("page number too large"));
    }
    let file = if number & 1 == 0 { 1 } else { u64::from(reader.varint_u16()?) };
    let page = file << 32 | number >> 1;
    assert!(page >> 48 == 0, "a page address has 48 bits");
    Ok(page)
}

/// `(file:page)`.
pub(crate) fn page_name(page: u64) -> String {
    format!("({}:{})", page >> 32, page & 0xffff_ffff)
}

/// A row of a heap is inserted, becomes a ghost, is restored, or is removed again: LOP_INSERT_ROWS and LOP_DELETE_ROWS with LCX_HEAP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapRow<'a> {
    /// The page.
    pub page: u64,
    /// The slot.
    pub slot: u16,
    /// The row was moved here; its address is a forwarding stub elsewhere.
    pub is_forwarded: bool,
    /// The row, where redo needs it.
    pub row: &'a [u8],
}

impl<'a> HeapRow<'a> {
    /// Appends the encoding.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        assert!(self.page != 0, "a row lies in a page");
        put_page(out, self.page);
        put_varint(out, u64::from(self.slot) << 1 | u64::from(self.is_forwarded));
        out.extend_from_slice(self.row);
        debug_assert_eq!(
            HeapRow::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    /// Reads it back.
    pub fn decode(payload: &'a [u8]) -> Result<HeapRow<'a>, DecodeError> {
        let mut reader = Reader::new(payload);
        let page = take_page(&mut reader)?;
        let slot = reader.varint_u32()?;
        if slot >> 17 != 0 {
            return Err(DecodeError("slot too large"));
        }
        Ok(HeapRow { page, slot: (slot >> 1) as u16, is_forwarded: slot & 1 != 0, row: reader.rest() })
    }

    pub(crate) fn describe(&self) -> String {
        format!("page {} slot {} row {} bytes", page_name(self.page), self.slot, self.row.len())
    }
}

/// A row of a B+tree: LOP_INSERT_ROWS and LOP_DELETE_ROWS with LCX_CLUSTERED or LCX_INDEX_LEAF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeRow<'a> {
    /// The leaf.
    pub page: u64,
    /// The slot.
    pub slot: u16,
    /// A ghost with this key stood there before (insert); the row becomes a ghost again (compensation of such an insert).
    pub over_ghost: bool,
    /// The tree's root: undo looks for the key from there.
    pub root: u64,
    /// The key.
    pub key: &'a [u8],
    /// The value, where redo or undo needs it.
    pub value: &'a [u8],
}

impl<'a> TreeRow<'a> {
    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        assert!(self.page != 0 && self.root != 0, "undo looks for the row from the root");
        assert!(!self.key.is_empty(), "a row of a tree has a key");
        put_page(out, self.page);
        put_varint(out, u64::from(self.slot) << 1 | u64::from(self.over_ghost));
        put_page(out, self.root);
        put_bytes(out, self.key);
        out.extend_from_slice(self.value);
        debug_assert_eq!(
            TreeRow::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    /// Reads it back.
    pub fn decode(payload: &'a [u8]) -> Result<TreeRow<'a>, DecodeError> {
        let mut reader = Reader::new(payload);
        let page = take_page(&mut reader)?;
        let slot = reader.varint_u32()?;
        if slot >> 17 != 0 {
            return Err(DecodeError("slot too large"));
        }
        let root = take_page(&mut reader)?;
        let key = reader.bytes()?;
        let over_ghost = slot & 1 != 0;
        Ok(TreeRow { page, slot: (slot >> 1) as u16, over_ghost, root, key, value: reader.rest() })
    }

    pub(crate) fn describe(&self) -> String {
        let (key, value) = (self.key.len(), self.value.len());
        format!("page {} slot {} key {key} bytes value {value} bytes", page_name(self.page), self.slot)
    }
}

/// Part of a row is replaced: LOP_MODIFY_ROW. The part may change its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPatch<'a> {
    /// The page.
    pub page: u64,
    /// The slot.
    pub slot: u16,
    /// Root and key, when the row is in a tree; then `offset` counts from the start of the value.
    pub tree: Option<(u64, &'a [u8])>,
    /// Heap only: the row was a forwarding stub before, is one after.
    pub is_stub: (bool, bool),
    /// Where in the row the part begins.
    pub offset: u16,
    /// Length of the part before and after, in bytes.
    pub lengths: (u16, u16),
    /// The part before; empty in a compensation record.
    pub old: &'a [u8],
    /// The part after; empty where nothing is redone.
    pub new: &'a [u8],
}

impl<'a> RowPatch<'a> {
    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        assert!(self.old.is_empty() || self.old.len() == usize::from(self.lengths.0), "all that is replaced");
        assert!(self.new.is_empty() || self.new.len() == usize::from(self.lengths.1), "all that replaces it");
        assert!(self.page != 0 && self.tree.is_none_or(|(root, key)| root != 0 && !key.is_empty()));
        assert!(self.tree.is_none() || self.is_stub == (false, false), "rows of trees are not forwarded");
        let mut bits = u64::from(self.slot) << 5;
        bits |= u64::from(!self.old.is_empty()) << 4 | u64::from(!self.new.is_empty()) << 3;
        bits |= u64::from(self.tree.is_some()) << 2;
        bits |= u64::from(self.is_stub.0) << 1 | u64::from(self.is_stub.1);
        put_page(out, self.page);
        put_varint(out, bits);
        if let Some((root, key)) = self.tree {
            put_page(out, root);
            put_bytes(out, key);
        }
        put_varint(out, u64::from(self.offset));
        put_varint(out, u64::from(self.lengths.0));
        put_varint(out, u64::from(self.lengths.1));
        out.extend_from_slice(self.old);
        out.extend_from_slice(self.new);
        debug_assert_eq!(
            RowPatch::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    /// Reads it back.
    pub fn decode(payload: &'a [u8]) -> Result<RowPatch<'a>, DecodeError> {
        let mut reader = Reader::new(payload);
        let page = take_page(&mut reader)?;
        let bits = reader.varint_u32()?;
        if bits >> 21 != 0 {
            return Err(DecodeError("slot too large"));
        }
        let tree = match bits & 4 {
            0 => None,
            _ => Some((take_page(&mut reader)?, reader.bytes()?)),
        };
        let offset = reader.varint_u16()?;
        let lengths = (reader.varint_u16()?, reader.varint_u16()?);
        let old = if bits & 16 == 0 { &[] } else { reader.take(usize::from(lengths.0))? };
        let new = if bits & 8 == 0 { &[] } else { reader.take(usize::from(lengths.1))? };
        reader.finish()?;
        let is_stub = (bits & 2 != 0, bits & 1 != 0);
        Ok(RowPatch { page, slot: (bits >> 5) as u16, tree, is_stub, offset, lengths, old, new })
    }

    pub(crate) fn describe(&self) -> String {
        let (old, new) = self.lengths;
        format!(
            "page {} slot {} offset {}: {old} bytes become {new}",
            page_name(self.page),
            self.slot,
            self.offset
        )
    }
}

/// Ghosts are removed and bytes kept for undo are freed: LOP_EXPUNGE_ROWS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expunge {
    /// The page.
    pub page: u64,
    /// The slots, ascending, as numbered before any is removed.
    pub slots: Vec<u16>,
}

impl Expunge {
    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        assert!(self.page != 0, "ghosts lie in a page");
        assert!(self.slots.is_sorted_by(|one, next| one < next), "each slot once, ascending");
        put_page(out, self.page);
        put_varint(out, self.slots.len() as u64);
        for slot in &self.slots {
            put_varint(out, u64::from(*slot));
        }
        debug_assert_eq!(
            Expunge::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    /// Reads it back.
    pub fn decode(payload: &[u8]) -> Result<Expunge, DecodeError> {
        let mut reader = Reader::new(payload);
        let page = take_page(&mut reader)?;
        let count = reader.varint()?;
        if count > reader.remaining() as u64 {
            return Err(DecodeError("ends early"));
        }
        let slots = (0..count).map(|_| reader.varint_u16()).collect::<Result<Vec<u16>, _>>()?;
        reader.finish()?;
        if !slots.is_sorted() {
            return Err(DecodeError("slots out of order"));
        }
        Ok(Expunge { page, slots })
    }
}

/// A heap or tree is made: LOP_CREATE_ALLOCCHAIN. Undo frees every page of the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitCreate {
    /// The allocation unit.
    pub unit: u32,
    /// Its first page or root.
    pub page: u64,
    /// Page type code.
    pub page_type: u8,
    /// Flags of the page header.
    pub page_flags: u8,
}

impl UnitCreate {
    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        assert!(self.unit != 0 && self.page != 0, "a unit has a number and a first page");
        put_varint(out, u64::from(self.unit));
        put_page(out, self.page);
        out.extend_from_slice(&[self.page_type, self.page_flags]);
        debug_assert_eq!(
            UnitCreate::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    /// Reads it back.
    pub fn decode(payload: &[u8]) -> Result<UnitCreate, DecodeError> {
        let mut reader = Reader::new(payload);
        let unit = reader.varint_u32()?;
        let page = take_page(&mut reader)?;
        let (page_type, page_flags) = (reader.u8()?, reader.u8()?);
        reader.finish()?;
        Ok(UnitCreate { unit, page, page_type, page_flags })
    }
}

/// A heap gets one more page at its end: LOP_FORMAT_PAGE with LCX_HEAP. Changes the page, its predecessor, the heap's first page
/// and the allocation map, as one atomic step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapAppend {
    /// The heap's allocation unit.
    pub unit: u32,
    /// The new page.
    pub page: u64,
    /// The page that was the last one.
    pub previous: u64,
    /// The heap's first page, which keeps the address of the last.
    pub first: u64,
}

impl HeapAppend {
    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        assert!(self.unit != 0 && self.page != 0 && self.first != 0, "a heap has a first page");
        assert!(self.page != self.previous && self.page != self.first, "the new page was not in the chain");
        put_varint(out, u64::from(self.unit));
        put_page(out, self.page);
        put_page(out, self.previous);
        put_page(out, self.first);
        debug_assert_eq!(
            HeapAppend::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    /// Reads it back.
    pub fn decode(payload: &[u8]) -> Result<HeapAppend, DecodeError> {
        let mut reader = Reader::new(payload);
        let unit = reader.varint_u32()?;
        let (page, previous) = (take_page(&mut reader)?, take_page(&mut reader)?);
        let first = take_page(&mut reader)?;
        reader.finish()?;
        Ok(HeapAppend { unit, page, previous, first })
    }
}

/// Facts in a page header about the page's rows, which move with the rows to another page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageFacts {
    /// Flags of the page.
    pub flags: u8,
    /// Bytes kept for undo.
    pub reserved_bytes: u16,
    /// The highest transaction that removed a row or part of one.
    pub last_remover: u64,
}

impl PageFacts {
    fn encode(self, out: &mut Vec<u8>) {
        out.push(self.flags);
        put_varint(out, u64::from(self.reserved_bytes));
        put_varint(out, self.last_remover);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<PageFacts, DecodeError> {
        Ok(PageFacts {
            flags: reader.u8()?,
            reserved_bytes: reader.varint_u16()?,
            last_remover: reader.varint()?,
        })
    }
}

/// Rows as they move from page to page: bytes and slot flags.
pub type MovedRow<'a> = (&'a [u8], u16);

pub(crate) fn put_rows(out: &mut Vec<u8>, rows: &[MovedRow<'_>]) {
    assert!(rows.iter().all(|(row, _)| !row.is_empty()), "a row has bytes");
    put_varint(out, rows.len() as u64);
    for (row, flags) in rows {
        put_varint(out, u64::from(*flags));
        put_bytes(out, row);
    }
}

pub(crate) fn take_rows<'a>(reader: &mut Reader<'a>) -> Result<Vec<MovedRow<'a>>, DecodeError> {
    let count = reader.varint()?;
    if count > reader.remaining() as u64 {
        return Err(DecodeError("ends early"));
    }
    let mut rows = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let flags = reader.varint_u16()?;
        rows.push((reader.bytes()?, flags));
    }
    Ok(rows)
}

/// A tree page splits: LOP_DELETE_SPLIT. Changes both halves, the right sibling, the parent and the allocation map, as one atomic step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeSplit<'a> {
    /// The tree's allocation unit.
    pub unit: u32,
    /// The page that splits and keeps the lower rows.
    pub left: u64,
    /// The new page.
    pub right: u64,
    /// The page that was to the right of `left`; 0 for none.
    pub next: u64,
    /// The parent.
    pub parent: u64,
    /// Where the parent gets its new entry.
    pub parent_slot: u16,
    /// Level of the halves.
    pub level: u8,
    /// The first slot that moves.
    pub split_slot: u16,
    /// The least key of the right half.
    pub separator: &'a [u8],
    /// Facts of the page header that go with the rows.
    pub facts: PageFacts,
    /// The rows that move.
    pub rows: Vec<MovedRow<'a>>,
}

impl<'a> TreeSplit<'a> {
    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        assert!(self.left != 0 && self.right != 0 && self.parent != 0, "a page that splits has a parent");
        assert!(
            self.left != self.right && self.right != self.next && self.right != self.parent,
            "the right half is new"
        );
        // One half may be empty until the entry that needs the space is inserted there: before the first row, or behind the last.
        assert!(!self.separator.is_empty(), "something lies below the right half");
        put_varint(out, u64::from(self.unit));
        for page in [self.left, self.right, self.next, self.parent] {
            put_page(out, page);
        }
        put_varint(out, u64::from(self.parent_slot));
        out.push(self.level);
        put_varint(out, u64::from(self.split_slot));
        put_bytes(out, self.separator);
        self.facts.encode(out);
        put_rows(out, &self.rows);
        debug_assert_eq!(
            TreeSplit::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    /// Reads it back.
    pub fn decode(payload: &'a [u8]) -> Result<TreeSplit<'a>, DecodeError> {
        let mut reader = Reader::new(payload);
        let split = TreeSplit {
            unit: reader.varint_u32()?,
            left: take_page(&mut reader)?,
            right: take_page(&mut reader)?,
            next: take_page(&mut reader)?,
            parent: take_page(&mut reader)?,
            parent_slot: reader.varint_u16()?,
            level: reader.u8()?,
            split_slot: reader.varint_u16()?,
            separator: reader.bytes()?,
            facts: PageFacts::decode(&mut reader)?,
            rows: take_rows(&mut reader)?,
        };
        reader.finish()?;
        Ok(split)
    }
}

/// A tree grows by a level: LOP_ROOT_CHANGE. The root's rows move to a new child, the root keeps its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootGrow<'a> {
    /// The tree's allocation unit.
    pub unit: u32,
    /// The root.
    pub root: u64,
    /// The new child.
    pub child: u64,
    /// The child's level; the root's is one more.
    pub level: u8,
    /// Facts of the page header that go with the rows.
    pub facts: PageFacts,
    /// All the rows.
    pub rows: Vec<MovedRow<'a>>,
}

impl<'a> RootGrow<'a> {
    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        assert!(self.root != 0 && self.child != 0 && self.root != self.child, "the root keeps its place");
        put_varint(out, u64::from(self.unit));
        put_page(out, self.root);
        put_page(out, self.child);
        out.push(self.level);
        self.facts.encode(out);
        put_rows(out, &self.rows);
        debug_assert_eq!(
            RootGrow::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    /// Reads it back.
    pub fn decode(payload: &'a [u8]) -> Result<RootGrow<'a>, DecodeError> {
        let mut reader = Reader::new(payload);
        let grow = RootGrow {
            unit: reader.varint_u32()?,
            root: take_page(&mut reader)?,
            child: take_page(&mut reader)?,
            level: reader.u8()?,
            facts: PageFacts::decode(&mut reader)?,
            rows: take_rows(&mut reader)?,
        };
        reader.finish()?;
        Ok(grow)
    }
}

/// An empty leaf is unlinked from its tree: LOP_MODIFY_HEADER. Changes the leaf, both siblings, the parent and the allocation map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeUnlink {
    /// The leaf.
    pub page: u64,
    /// Its left sibling; 0 for none.
    pub left: u64,
    /// Its right sibling.
    pub right: u64,
    /// Its parent.
    pub parent: u64,
    /// The parent's entry for it.
    pub parent_slot: u16,
}

impl TreeUnlink {
    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        assert!(self.page != 0 && self.right != 0 && self.parent != 0, "the last leaf of a tree stays");
        assert!(![self.left, self.right, self.parent].contains(&self.page), "a leaf and its neighbours");
        for page in [self.page, self.left, self.right, self.parent] {
            put_page(out, page);
        }
        put_varint(out, u64::from(self.parent_slot));
        debug_assert_eq!(
            TreeUnlink::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    /// Reads it back.
    pub fn decode(payload: &[u8]) -> Result<TreeUnlink, DecodeError> {
        let mut reader = Reader::new(payload);
        let page = take_page(&mut reader)?;
        let (left, right) = (take_page(&mut reader)?, take_page(&mut reader)?);
        let unlink = TreeUnlink {
            page,
            left,
            right,
            parent: take_page(&mut reader)?,
            parent_slot: reader.varint_u16()?,
        };
        reader.finish()?;
        Ok(unlink)
    }
}

/// A change of entries of an allocation map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapChange {
    /// The pages are free for any allocation unit.
    Free = 0,
    /// The pages will be free once the transaction has committed.
    Pending = 1,
    /// The transaction rolled back: they stay with their owner.
    Keep = 2,
}

/// Entries of one allocation map change: LOP_SET_BITS with LCX_GAM (free) or LCX_IAM (pending, keep).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapBits {
    /// The map page.
    pub map: u64,
    /// The change.
    pub change: MapChange,
    /// Runs of entries: first and how many, ascending.
    pub runs: Vec<(u16, u16)>,
}

impl MapBits {
    /// Upper bound of the encoding, in bytes, for every kind of change.
    pub fn encoded_bytes_max(&self) -> usize {
        8 + 1 + 2 + 4 * self.runs.len()
    }

    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        assert!(!self.runs.is_empty() && self.runs.iter().all(|run| run.1 > 0), "a change changes something");
        let behind =
            |one: &(u16, u16), next: &(u16, u16)| u32::from(one.0) + u32::from(one.1) <= u32::from(next.0);
        assert!(self.runs.is_sorted_by(behind), "runs of entries do not overlap");
        assert!(self.map != 0, "entries stand in a map");
        put_page(out, self.map);
        out.push(self.change as u8);
        put_varint(out, self.runs.len() as u64);
        for (first, count) in &self.runs {
            put_varint(out, u64::from(*first));
            put_varint(out, u64::from(*count));
        }
        debug_assert_eq!(
            MapBits::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    /// Reads it back.
    pub fn decode(payload: &[u8]) -> Result<MapBits, DecodeError> {
        let mut reader = Reader::new(payload);
        let map = take_page(&mut reader)?;
        let change = match reader.u8()? {
            0 => MapChange::Free,
            1 => MapChange::Pending,
            2 => MapChange::Keep,
            _ => return Err(DecodeError("unknown change of an allocation map")),
        };
        let count = reader.varint()?;
        if count > reader.remaining() as u64 {
            return Err(DecodeError("ends early"));
        }
        let mut runs = Vec::with_capacity(count as usize);
        for _ in 0..count {
            runs.push((reader.varint_u16()?, reader.varint_u16()?));
        }
        reader.finish()?;
        Ok(MapBits { map, change, runs })
    }

    pub(crate) fn describe(&self) -> String {
        let pages: u32 = self.runs.iter().map(|run| u32::from(run.1)).sum();
        format!("map {} {:?} {pages} pages", page_name(self.map), self.change)
    }
}

/// A piece of a large object gets its page: LOP_FORMAT_PAGE with LCX_TEXT_MIX. Undo frees the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LobPage<'a> {
    /// The allocation unit.
    pub unit: u32,
    /// The page.
    pub page: u64,
    /// The page with the next piece; 0 for the last.
    pub next: u64,
    /// The object's own number, the same in all its pieces.
    pub stamp: u64,
    /// The piece; empty where nothing is redone.
    pub data: &'a [u8],
}

impl<'a> LobPage<'a> {
    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        assert!(
            self.unit != 0 && self.page != 0 && self.page != self.next,
            "pieces lie in pages of their own"
        );
        put_varint(out, u64::from(self.unit));
        put_page(out, self.page);
        put_page(out, self.next);
        out.extend_from_slice(&self.stamp.to_le_bytes());
        out.extend_from_slice(self.data);
        debug_assert_eq!(
            LobPage::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    /// Reads it back.
    pub fn decode(payload: &'a [u8]) -> Result<LobPage<'a>, DecodeError> {
        let mut reader = Reader::new(payload);
        let unit = reader.varint_u32()?;
        let (page, next) = (take_page(&mut reader)?, take_page(&mut reader)?);
        Ok(LobPage { unit, page, next, stamp: reader.u64()?, data: reader.rest() })
    }
}

#[cfg(test)]
#[path = "page_records_tests.rs"]
mod tests;
