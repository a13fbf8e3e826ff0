//! A server of real sessions, for tests of connections.

use std::path::PathBuf;
use std::sync::Arc;

use engine::{Instance, InstanceOptions};
use hardpan_server::{Config, Server, Sockets};
use os::{Os, WaitType};
use session::SessionShared;
use tds::client::Token;
use tds::login7::TdsVersion;
use types::Value;

use super::client::{Client, PASSWORD};

pub struct World {
    pub os: Os,
    folder: PathBuf,
    instance: Arc<Instance>,
    server: Option<Server>,
}

impl World {
    pub fn new(name: &str) -> World {
        let os = Os::real();
        let folder = std::env::temp_dir().join(format!("hardpan-world-{name}-{}", os::process::id()));
        let instance = Instance::open(&os, &InstanceOptions::new(folder.join("data"))).unwrap();
        let mut config = Config::new(folder.clone());
        config.listen = "127.0.0.1:0".into();
        let sessions = SessionShared::new(instance.clone(), "test", 0);
        let sockets = Sockets::bind(&os, &config, false).unwrap();
        let server = Server::start(&os, config, sockets, Some(PASSWORD), Box::new(sessions)).unwrap();
        World { os, folder, instance, server: Some(server) }
    }

    pub fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    pub fn client(&self) -> Client {
        let mut client = Client::connect(&self.os, self.server(), TdsVersion::V7_4);
        let tokens = client.log_in(|_| {});
        assert!(tokens.iter().any(|token| matches!(token, Token::LoginAck { .. })), "{tokens:?}");
        client
    }

    pub fn pause(&self, milliseconds: u64) {
        self.os.sleep(milliseconds * 1_000_000, WaitType::SLEEP_TASK).unwrap();
    }

    /// Waits until the session has ended; a new one could get its number.
    pub fn wait_for_end_of(&self, id: i64, watcher: &mut Client) {
        let query = format!("SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id = {id}");
        for _ in 0..500 {
            if number(&watcher.batch(&query)) == 0 {
                return;
            }
            self.pause(10);
        }
        panic!("session {id} is still there");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
        self.instance.shutdown();
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// The number in the first row of an answer.
pub fn number(tokens: &[Token]) -> i64 {
    let row = tokens.iter().find_map(|token| if let Token::Row(row) = token { Some(row) } else { None });
    row.and_then(|row| row.first().and_then(Value::as_i64)).unwrap_or_else(|| panic!("{tokens:?}"))
}
