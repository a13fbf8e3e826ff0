//! PRELOGIN and LOGIN7 from hostile bytes; what decodes can be encoded and decoded again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tds::login7::Login7;
use tds::prelogin::PreLogin;

fuzz_target!(|data: &[u8]| {
    if let Ok(message) = PreLogin::decode(data) {
        let again = PreLogin::decode(&message.encode()).expect("an encoded PRELOGIN decodes");
        assert_eq!(again.encryption, message.encryption);
    }
    if let Ok(login) = Login7::decode(data) {
        // Overlapping fields can blow a record up beyond 16-bit offsets; only what fits is encoded again.
        if data.len() < 2_000 {
            let again = Login7::decode(&login.encode()).expect("an encoded LOGIN7 decodes");
            assert_eq!((again.user_name, again.password), (login.user_name, login.password));
        }
    }
});
