//! SQL logins: names, password hashes and default databases, kept in `logins.json` of the data directory (mode 0600).

use core::net::IpAddr;
use std::path::{Path, PathBuf};

use os::{Latch, LatchRank, Os};
use serde_json::{Value as Json, json};

use crate::config::ServeError;
use crate::passwords::{self, PasswordChecker};
use crate::throttle::LoginThrottle;

const FILE: &str = "logins.json";
const FILE_VERSION: u64 = 1;
/// The login that the first start creates.
const ADMINISTRATOR: &str = "sa";

/// A login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// Name, compared without regard to case.
    pub name: String,
    /// Argon2id hash in PHC form.
    pub password_hash: String,
    /// Database for clients that request none.
    pub default_database: String,
    /// May not log in.
    pub disabled: bool,
}

/// All logins, with their password checks and throttle.
pub struct Logins {
    os: Os,
    path: PathBuf,
    logins: Latch<Vec<Login>>,
    checker: PasswordChecker,
    throttle: LoginThrottle,
}

impl Logins {
    /// Opens the file in `data_dir`, or makes it with the login `sa`. Returns the password when one was generated,
    /// for printing once: it is stored only as a hash.
    pub fn open(
        os: &Os,
        data_dir: &Path,
        password: Option<&str>,
    ) -> Result<(Logins, Option<String>), ServeError> {
        let path = data_dir.join(FILE);
        let is_new = !os.disk().exists(&path);
        let known = if is_new { Vec::new() } else { parse(&os.disk().read_file(&path)?, &path)? };
        let logins = Logins {
            os: os.clone(),
            path,
            logins: Latch::new(LatchRank::Server, known),
            checker: PasswordChecker::new(os),
            throttle: LoginThrottle::new(),
        };
        if !is_new {
            if let Some(password) = password {
                logins.set_password(ADMINISTRATOR, password)?;
            }
            return Ok((logins, None));
        }
        let generated = password.is_none().then(|| passwords::generate(os));
        let password = generated.as_deref().or(password).unwrap_or_default();
        logins.set_password(ADMINISTRATOR, password)?;
        Ok((logins, generated))
    }

    /// Creates a login or changes its password. Nothing is written when the password is the one it has.
    pub fn set_password(&self, name: &str, password: &str) -> Result<(), ServeError> {
        if password.is_empty() {
            return Err(ServeError::Logins(format!("the new password of '{name}' is empty")));
        }
        let present = self.find(name);
        if let Some(login) = &present
            && self.checker.verify(name, Some(&login.password_hash), password)
        {
            return Ok(());
        }
        let password_hash = self.checker.hash(password);
        let mut login = present.unwrap_or_else(|| Login {
            name: name.to_string(),
            password_hash: String::new(),
            default_database: "master".into(),
            disabled: false,
        });
        login.password_hash = password_hash;
        let mut logins = self.logins.lock();
        logins.retain(|other| !is_same_name(&other.name, name));
        logins.push(login);
        self.os.disk().replace_private_file(&self.path, &to_text(&logins))?;
        Ok(())
    }

    /// The login of that name.
    pub fn find(&self, name: &str) -> Option<Login> {
        self.logins.lock().iter().find(|login| is_same_name(&login.name, name)).cloned()
    }

    /// The login, if this is its last accepted password: needs no hash.
    pub fn remembered(&self, name: &str, password: &str) -> Option<Login> {
        self.enabled(name).filter(|login| self.checker.is_remembered(name, &login.password_hash, password))
    }

    /// How long the next check for an address with failures has to wait, in ns.
    pub fn wait_ns(&self, address: IpAddr, now_ns: u64) -> u64 {
        self.throttle.wait_ns(address, now_ns)
    }

    /// Checks a name and password by a hash, unless they are remembered. A wrong name and a wrong password differ neither in answer nor in time.
    pub fn check(&self, name: &str, password: &str, address: IpAddr) -> Option<Login> {
        if let Some(login) = self.remembered(name, password) {
            return Some(login);
        }
        let login = self.enabled(name);
        let hash = login.as_ref().map(|login| login.password_hash.as_str());
        if self.checker.verify(name, hash, password) {
            self.throttle.succeeded(address);
            return login;
        }
        self.throttle.failed(address, self.os.clock().monotonic_ns());
        None
    }

    fn enabled(&self, name: &str) -> Option<Login> {
        self.find(name).filter(|login| !login.disabled)
    }
}

fn is_same_name(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn parse(bytes: &[u8], path: &Path) -> Result<Vec<Login>, ServeError> {
    let damaged = |what: &str| ServeError::Logins(format!("{}: {what}", path.display()));
    let root: Json = serde_json::from_slice(bytes).map_err(|error| damaged(&error.to_string()))?;
    if root["version"] != FILE_VERSION {
        return Err(damaged("the file has a version that this server does not know"));
    }
    let logins = root["logins"].as_array().ok_or_else(|| damaged("the list of logins is missing"))?;
    let field = |login: &Json, name: &str| {
        login[name].as_str().map(str::to_string).ok_or_else(|| damaged(&format!("a login lacks '{name}'")))
    };
    logins
        .iter()
        .map(|login| {
            Ok(Login {
                name: field(login, "name")?,
                password_hash: field(login, "password_hash")?,
                default_database: field(login, "default_database")?,
                disabled: login["disabled"].as_bool().unwrap_or(false),
            })
        })
        .collect()
}

fn to_text(logins: &[Login]) -> Vec<u8> {
    let list: Vec<Json> = logins
        .iter()
        .map(|login| {
            json!({
                "name": login.name,
                "password_hash": login.password_hash,
                "default_database": login.default_database,
                "disabled": login.disabled,
            })
        })
        .collect();
    let mut text = format!("{:#}", json!({ "version": FILE_VERSION, "logins": list }));
    text.push('\n');
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: IpAddr = IpAddr::V4(core::net::Ipv4Addr::LOCALHOST);

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("hardpan-logins-{name}-{}", os::process::id()));
        Os::real().disk().create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn the_first_start_makes_sa_and_later_ones_keep_it() {
        let (os, directory) = (Os::real(), directory("first"));
        let (logins, generated) = Logins::open(&os, &directory, None).unwrap();
        let password = generated.expect("a password is generated at first start");
        assert!(logins.check("SA", &password, HOME).is_some());
        let text = String::from_utf8(os.disk().read_file(&directory.join(FILE)).unwrap()).unwrap();
        assert!(text.contains("$argon2id$") && !text.contains(&password));
        let (logins, generated) = Logins::open(&os, &directory, None).unwrap();
        assert_eq!(generated, None);
        assert!(logins.check("sa", &password, HOME).is_some());
        assert!(logins.check("sa", "wrong", HOME).is_none());
        let (logins, _) = Logins::open(&os, &directory, Some("changed")).unwrap();
        assert!(logins.check("sa", "changed", HOME).is_some());
        assert!(logins.check("sa", &password, HOME).is_none());
    }

    /// The time of a refusal does not reveal whether a name exists: it is one hash of the same cost in any case.
    #[test]
    fn wrong_names_cost_as_many_hashes_as_wrong_passwords() {
        let (os, directory) = (Os::real(), directory("hashes"));
        let (logins, _) = Logins::open(&os, &directory, Some("right")).unwrap();
        logins.set_password("gone", "right").unwrap();
        logins.logins.lock().iter_mut().find(|login| login.name == "gone").unwrap().disabled = true;
        let hashes = |name: &str, password: &str| {
            let before = logins.checker.hashes_begun();
            let is_let_in = logins.check(name, password, HOME).is_some();
            (logins.checker.hashes_begun() - before, is_let_in)
        };
        for (name, password) in [
            ("sa", "wrong"),
            ("nobody", "wrong"),
            ("nobody", "right"),
            ("", ""),
            ("gone", "right"),
            ("SA", "Right"),
        ] {
            assert_eq!(hashes(name, password), (1, false), "{name}, {password}");
        }
        // A password set at the start is not remembered yet; after this check no hash is needed.
        assert_eq!(hashes("sa", "right"), (1, true));
        assert_eq!(hashes("Sa", "right"), (0, true));
        assert_eq!(hashes("sa", "wrong"), (1, false));
        assert_eq!(logins.remembered("gone", "right"), None);
    }

    #[test]
    fn damaged_files_are_refused_with_their_name() {
        let (os, directory) = (Os::real(), directory("damaged"));
        for text in ["", "{}", r#"{"version":2,"logins":[]}"#, r#"{"version":1,"logins":[{"name":"sa"}]}"#] {
            os.disk().replace_private_file(&directory.join(FILE), text.as_bytes()).unwrap();
            let error = Logins::open(&os, &directory, None).err().expect("refused").to_string();
            assert!(error.contains(FILE), "{error}");
        }
    }
}
