//! Passwords: slow salted hashes (Argon2id), a fast check of recently accepted passwords, and a limit of concurrent hashes.

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use blake2::Blake2sMac256;
use blake2::digest::{Mac, Update};
use os::{Condition, Latch, LatchRank, Os, WaitType};
use rustc_hash::FxHashMap;

/// Memory of one hash in KiB: 8 MB, so that many logins at once do not displace cached data.
const HASH_MEMORY_KIB: u32 = 8 * 1024;
/// Passes over that memory; with 8 MB about 20 ms on the machine it was chosen on.
const HASH_PASSES: u32 = 3;
/// Hashes that may run at the same time; further logins wait (reliability F17, F20).
pub const HASHES_AT_ONCE: usize = 2;
/// Accepted passwords remembered for fast reconnects.
const REMEMBERED_MAX: usize = 1024;
/// A valid hash of no password: verified for unknown names, so that they take as long as known ones.
const NOBODYS_HASH: &str =
    "$argon2id$v=19$m=8192,t=3,p=1$aGFyZHBhbm5vYm9keXM$MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";

/// Running hashes, and the number begun so far.
#[derive(Default)]
struct Hashes {
    now: usize,
    begun: u64,
}

/// Hashes and checks passwords.
pub struct PasswordChecker {
    os: Os,
    /// Key of [`fingerprint`](Self::fingerprint), new at each start; the fingerprints never leave the process.
    key: [u8; 32],
    running: Latch<Hashes>,
    may_run: Condition,
    /// Fingerprints of accepted (login, hash, password) by lower-case login.
    remembered: Latch<FxHashMap<String, [u8; 32]>>,
}

impl PasswordChecker {
    /// A checker that remembers nothing yet.
    pub fn new(os: &Os) -> Self {
        let mut key = [0; 32];
        os.fill_random(&mut key);
        PasswordChecker {
            os: os.clone(),
            key,
            running: Latch::new(LatchRank::Server, Hashes::default()),
            may_run: Condition::new(),
            remembered: Latch::new(LatchRank::Server, FxHashMap::default()),
        }
    }

    /// A new salted hash of `password`, in PHC text form.
    pub fn hash(&self, password: &str) -> String {
        let mut salt = [0; 16];
        self.os.fill_random(&mut salt);
        let salt = SaltString::encode_b64(&salt).expect("16 bytes are a valid salt");
        let _slot = self.enter();
        let hash = hasher().hash_password(password.as_bytes(), &salt);
        hash.expect("the parameters are constants known to work").to_string()
    }

    /// True when `password` is the last accepted one for this login and hash; costs microseconds.
    pub fn is_remembered(&self, login: &str, stored_hash: &str, password: &str) -> bool {
        let print = self.fingerprint(login, stored_hash, password);
        self.remembered.lock().get(&login.to_lowercase()) == Some(&print)
    }

    /// Checks `password` against the stored hash of `login` (`None`: there is no such login; the check takes as long).
    pub fn verify(&self, login: &str, stored_hash: Option<&str>, password: &str) -> bool {
        let text = stored_hash.unwrap_or(NOBODYS_HASH);
        let Ok(parsed) = PasswordHash::new(text) else {
            return false;
        };
        let slot = self.enter();
        let matches = hasher().verify_password(password.as_bytes(), &parsed).is_ok();
        drop(slot);
        let accepted = matches && stored_hash.is_some();
        if accepted {
            self.remember(login, text, password);
        }
        accepted
    }

    fn remember(&self, login: &str, stored_hash: &str, password: &str) {
        let print = self.fingerprint(login, stored_hash, password);
        let mut remembered = self.remembered.lock();
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert(login.to_lowercase(), print);
    }

    /// A keyed hash of all three, so that a password change invalidates it.
    fn fingerprint(&self, login: &str, stored_hash: &str, password: &str) -> [u8; 32] {
        let mut mac = <Blake2sMac256 as Mac>::new_from_slice(&self.key).expect("32 bytes are a valid key");
        for part in [&login.to_lowercase(), stored_hash, password] {
            Update::update(&mut mac, &(part.len() as u64).to_le_bytes());
            Update::update(&mut mac, part.as_bytes());
        }
        mac.finalize().into_bytes().into()
    }

    /// Hashes computed so far, running ones included.
    #[cfg(test)]
    pub fn hashes_begun(&self) -> u64 {
        self.running.lock().begun
    }

    /// Waits for one of the places for concurrent hashes.
    fn enter(&self) -> HashingPlace<'_> {
        let _mask = os::task::mask_interrupts();
        let mut running = self.running.lock();
        while running.now >= HASHES_AT_ONCE {
            (running, _) = self.may_run.wait(running, WaitType::SLEEP_TASK, None);
        }
        running.now += 1;
        running.begun += 1;
        HashingPlace(self)
    }
}

/// A place for a running hash; released when dropped.
struct HashingPlace<'a>(&'a PasswordChecker);

impl Drop for HashingPlace<'_> {
    fn drop(&mut self) {
        self.0.running.lock().now -= 1;
        self.0.may_run.notify_one();
    }
}

fn hasher() -> Argon2<'static> {
    let params = Params::new(HASH_MEMORY_KIB, HASH_PASSES, 1, None)
        .expect("the parameters are constants known to work");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

/// A random password of 20 characters (about 118 bits) that needs no quoting in shells or connection strings.
pub fn generate(os: &Os) -> String {
    const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut password = String::new();
    while password.len() < 20 {
        let mut byte = [0];
        os.fill_random(&mut byte);
        // Bytes beyond the last full round of the alphabet would make its first letters more probable.
        if byte[0] < 248 {
            password.push(char::from(ALPHABET[usize::from(byte[0]) % ALPHABET.len()]));
        }
    }
    password
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_password_is_accepted_and_then_remembered() {
        let checker = PasswordChecker::new(&Os::real());
        let hash = checker.hash("Pä$$wörd");
        assert!(hash.starts_with("$argon2id$v=19$m=8192,t=3,p=1$"));
        assert_ne!(hash, checker.hash("Pä$$wörd"), "each hash has a salt of its own");
        assert!(!checker.is_remembered("sa", &hash, "Pä$$wörd"));
        assert!(!checker.verify("sa", Some(&hash), "pä$$wörd"));
        assert!(!checker.is_remembered("sa", &hash, "pä$$wörd"));
        assert!(checker.verify("SA", Some(&hash), "Pä$$wörd"));
        assert!(checker.is_remembered("sa", &hash, "Pä$$wörd"));
        assert!(!checker.is_remembered("sa", &checker.hash("Pä$$wörd"), "Pä$$wörd"));
    }

    #[test]
    fn nobodys_hash_is_well_formed_and_costs_the_same() {
        let parsed = PasswordHash::new(NOBODYS_HASH).unwrap();
        let params = Params::try_from(&parsed).unwrap();
        assert_eq!((params.m_cost(), params.t_cost(), params.p_cost()), (HASH_MEMORY_KIB, HASH_PASSES, 1));
        assert_eq!(parsed.hash.unwrap().len(), 32);
        assert!(!PasswordChecker::new(&Os::real()).verify("nobody", None, "x"));
    }

    #[test]
    fn generated_passwords_differ() {
        let os = Os::real();
        let (one, other) = (generate(&os), generate(&os));
        assert_eq!(one.len(), 20);
        assert_ne!(one, other);
    }
}
