//! The documents of sp_xml_preparedocument that a session holds.

use std::sync::Arc;

use query::context::PreparedXml;
use rustc_hash::FxHashMap;
use types::{SqlError, SqlResult};

/// A session holds so many, at most.
const DOCUMENTS_MAX: usize = 100_000;

/// The documents by their handles: 1, 3, 5 and so on, none twice.
#[derive(Default)]
pub(crate) struct XmlDocuments {
    kept: i32,
    documents: FxHashMap<i32, Arc<PreparedXml>>,
}

impl XmlDocuments {
    /// Keeps a document and gives its handle. Error 701.
    pub(crate) fn keep(&mut self, document: PreparedXml) -> SqlResult<i32> {
        // They outlive the request: a quarter of all memory stays free for later requests.
        let left_bytes =
            os::memory::total_bytes_max().map_or(0, |max| usize::try_from(max / 4).unwrap_or(usize::MAX));
        let has_room = os::memory::has_room_for(left_bytes.saturating_add(4 * document.xml.len()));
        if self.documents.len() >= DOCUMENTS_MAX || !has_room {
            return Err(SqlError::new(701, &[&"internal"]));
        }
        let handle = self.kept.saturating_mul(2).saturating_add(1);
        self.kept = self.kept.saturating_add(1);
        self.documents.insert(handle, Arc::new(document));
        Ok(handle)
    }

    pub(crate) fn get(&self, handle: i32) -> Option<Arc<PreparedXml>> {
        self.documents.get(&handle).cloned()
    }

    /// Was it there?
    pub(crate) fn remove(&mut self, handle: i32) -> bool {
        self.documents.remove(&handle).is_some()
    }
}
