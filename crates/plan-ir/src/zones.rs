//! Time zones by their Windows names, over the IANA database that the library `tzdb_data` carries.
//!
//! What a name means for a wall-clock time follows captures from SQL Server: times that a change of the clocks repeats or skips are read in
//! the offset before the change. Offsets long ago are those of the IANA database, where Windows extends its first rule backwards.

pub const TICKS_PER_SECOND: i64 = 10_000_000;
/// Ticks from 0001-01-01 to 1970-01-01.
const TICKS_TO_1970: i64 = 621_355_968_000_000_000;
/// Within a day of any moment a zone changes its clocks once at most.
const A_DAY_S: i64 = 86_400;

/// A zone: its name and its rules.
#[derive(Clone, Copy)]
pub struct Zone {
    pub name: &'static str,
    rules: &'static tz::TimeZoneRef<'static>,
}

impl Zone {
    /// The zone of a name, in whatever letter case; blanks count.
    pub fn named(name: &str) -> Option<Zone> {
        let found = ZONES.iter().find(|zone| zone.0.eq_ignore_ascii_case(name))?;
        Zone::of(*found)
    }

    /// All zones.
    pub fn all() -> impl Iterator<Item = Zone> {
        ZONES.iter().filter_map(|zone| Zone::of(*zone))
    }

    fn of((name, place): (&'static str, &'static str)) -> Option<Zone> {
        Some(Zone { name, rules: tzdb_data::find_tz(place.as_bytes())? })
    }

    /// Minutes east of Greenwich at an instant (seconds since 1970), and whether that is summer time.
    pub fn at(&self, unix_s: i64) -> (i32, bool) {
        match self.rules.find_local_time_type(unix_s) {
            // Local mean time has seconds.
            Ok(found) => (found.ut_offset().div_euclid(60), found.is_dst()),
            Err(_) => (0, false),
        }
    }

    /// The same for a wall-clock time of the zone.
    pub fn at_local(&self, local_s: i64) -> (i32, bool) {
        self.at(local_s - i64::from(self.read_offset(local_s)) * 60)
    }

    /// The offset in which a wall-clock time is read: the one before a change that repeats or skips it.
    pub fn read_offset(&self, local_s: i64) -> i32 {
        let instant = |offset_minutes: i32| local_s - i64::from(offset_minutes) * 60;
        let before = self.at(local_s - A_DAY_S).0;
        let after = self.at(local_s + A_DAY_S).0;
        let is_right = |offset: &&i32| self.at(instant(**offset)).0 == **offset;
        // None is right where the clocks have skipped the time: it is read as if they had not.
        [before, after].iter().find(is_right).copied().unwrap_or(before)
    }
}

/// Seconds since 1970.
pub fn unix_s(ticks: i64) -> i64 {
    (ticks - TICKS_TO_1970).div_euclid(TICKS_PER_SECOND)
}

/// Windows names, and the place of the IANA database that stands for each ("windowsZones" of the Common Locale Data Repository).
const ZONES: &[(&str, &str)] = &[
    ("AUS Central Standard Time", "Australia/Darwin"),
    ("AUS Eastern Standard Time", "Australia/Sydney"),
    ("Afghanistan Standard Time", "Asia/Kabul"),
    ("Alaskan Standard Time", "America/Anchorage"),
    ("Aleutian Standard Time", "America/Adak"),
    ("Altai Standard Time", "Asia/Barnaul"),
    ("Arab Standard Time", "Asia/Riyadh"),
    ("Arabian Standard Time", "Asia/Dubai"),
    ("Arabic Standard Time", "Asia/Baghdad"),
    ("Argentina Standard Time", "America/Buenos_Aires"),
    ("Astrakhan Standard Time", "Europe/Astrakhan"),
    ("Atlantic Standard Time", "America/Halifax"),
    ("Aus Central W. Standard Time", "Australia/Eucla"),
    ("Azerbaijan Standard Time", "Asia/Baku"),
    ("Azores Standard Time", "Atlantic/Azores"),
    ("Bahia Standard Time", "America/Bahia"),
    ("Bangladesh Standard Time", "Asia/Dhaka"),
    ("Belarus Standard Time", "Europe/Minsk"),
    ("Bougainville Standard Time", "Pacific/Bougainville"),
    ("Canada Central Standard Time", "America/Regina"),
    ("Cape Verde Standard Time", "Atlantic/Cape_Verde"),
    ("Caucasus Standard Time", "Asia/Yerevan"),
    ("Cen. Australia Standard Time", "Australia/Adelaide"),
    ("Central America Standard Time", "America/Guatemala"),
    ("Central Asia Standard Time", "Asia/Bishkek"),
    ("Central Brazilian Standard Time", "America/Cuiaba"),
    ("Central Europe Standard Time", "Europe/Budapest"),
    ("Central European Standard Time", "Europe/Warsaw"),
    ("Central Pacific Standard Time", "Pacific/Guadalcanal"),
    ("Central Standard Time", "America/Chicago"),
    ("Central Standard Time (Mexico)", "America/Mexico_City"),
    ("Chatham Islands Standard Time", "Pacific/Chatham"),
    ("China Standard Time", "Asia/Shanghai"),
    ("Cuba Standard Time", "America/Havana"),
    ("Dateline Standard Time", "Etc/GMT+12"),
    ("E. Africa Standard Time", "Africa/Nairobi"),
    ("E. Australia Standard Time", "Australia/Brisbane"),
    ("E. Europe Standard Time", "Europe/Chisinau"),
    ("E. South America Standard Time", "America/Sao_Paulo"),
    ("Easter Island Standard Time", "Pacific/Easter"),
    ("Eastern Standard Time", "America/New_York"),
    ("Eastern Standard Time (Mexico)", "America/Cancun"),
    ("Egypt Standard Time", "Africa/Cairo"),
    ("Ekaterinburg Standard Time", "Asia/Yekaterinburg"),
    ("FLE Standard Time", "Europe/Kiev"),
    ("Fiji Standard Time", "Pacific/Fiji"),
    ("GMT Standard Time", "Europe/London"),
    ("GTB Standard Time", "Europe/Bucharest"),
    ("Georgian Standard Time", "Asia/Tbilisi"),
    ("Greenland Standard Time", "America/Godthab"),
    ("Greenwich Standard Time", "Atlantic/Reykjavik"),
    ("Haiti Standard Time", "America/Port-au-Prince"),
    ("Hawaiian Standard Time", "Pacific/Honolulu"),
    ("India Standard Time", "Asia/Calcutta"),
    ("Iran Standard Time", "Asia/Tehran"),
    ("Israel Standard Time", "Asia/Jerusalem"),
    ("Jordan Standard Time", "Asia/Amman"),
    ("Kaliningrad Standard Time", "Europe/Kaliningrad"),
    ("Kamchatka Standard Time", "Asia/Kamchatka"),
    ("Korea Standard Time", "Asia/Seoul"),
    ("Libya Standard Time", "Africa/Tripoli"),
    ("Line Islands Standard Time", "Pacific/Kiritimati"),
    ("Lord Howe Standard Time", "Australia/Lord_Howe"),
    ("Magadan Standard Time", "Asia/Magadan"),
    ("Magallanes Standard Time", "America/Punta_Arenas"),
    ("Marquesas Standard Time", "Pacific/Marquesas"),
    ("Mauritius Standard Time", "Indian/Mauritius"),
    ("Mid-Atlantic Standard Time", "Etc/GMT+2"),
    ("Middle East Standard Time", "Asia/Beirut"),
    ("Montevideo Standard Time", "America/Montevideo"),
    ("Morocco Standard Time", "Africa/Casablanca"),
    ("Mountain Standard Time", "America/Denver"),
    ("Mountain Standard Time (Mexico)", "America/Mazatlan"),
    ("Myanmar Standard Time", "Asia/Rangoon"),
    ("N. Central Asia Standard Time", "Asia/Novosibirsk"),
    ("Namibia Standard Time", "Africa/Windhoek"),
    ("Nepal Standard Time", "Asia/Katmandu"),
    ("New Zealand Standard Time", "Pacific/Auckland"),
    ("Newfoundland Standard Time", "America/St_Johns"),
    ("Norfolk Standard Time", "Pacific/Norfolk"),
    ("North Asia East Standard Time", "Asia/Irkutsk"),
    ("North Asia Standard Time", "Asia/Krasnoyarsk"),
    ("North Korea Standard Time", "Asia/Pyongyang"),
    ("Omsk Standard Time", "Asia/Omsk"),
    ("Pacific SA Standard Time", "America/Santiago"),
    ("Pacific Standard Time", "America/Los_Angeles"),
    ("Pacific Standard Time (Mexico)", "America/Tijuana"),
    ("Pakistan Standard Time", "Asia/Karachi"),
    ("Paraguay Standard Time", "America/Asuncion"),
    ("Qyzylorda Standard Time", "Asia/Qyzylorda"),
    ("Romance Standard Time", "Europe/Paris"),
    ("Russia Time Zone 10", "Asia/Srednekolymsk"),
    ("Russia Time Zone 11", "Asia/Kamchatka"),
    ("Russia Time Zone 3", "Europe/Samara"),
    ("Russian Standard Time", "Europe/Moscow"),
    ("SA Eastern Standard Time", "America/Cayenne"),
    ("SA Pacific Standard Time", "America/Bogota"),
    ("SA Western Standard Time", "America/La_Paz"),
    ("SE Asia Standard Time", "Asia/Bangkok"),
    ("Saint Pierre Standard Time", "America/Miquelon"),
    ("Sakhalin Standard Time", "Asia/Sakhalin"),
    ("Samoa Standard Time", "Pacific/Apia"),
    ("Sao Tome Standard Time", "Africa/Sao_Tome"),
    ("Saratov Standard Time", "Europe/Saratov"),
    ("Singapore Standard Time", "Asia/Singapore"),
    ("South Africa Standard Time", "Africa/Johannesburg"),
    ("South Sudan Standard Time", "Africa/Juba"),
    ("Sri Lanka Standard Time", "Asia/Colombo"),
    ("Sudan Standard Time", "Africa/Khartoum"),
    ("Syria Standard Time", "Asia/Damascus"),
    ("Taipei Standard Time", "Asia/Taipei"),
    ("Tasmania Standard Time", "Australia/Hobart"),
    ("Tocantins Standard Time", "America/Araguaina"),
    ("Tokyo Standard Time", "Asia/Tokyo"),
    ("Tomsk Standard Time", "Asia/Tomsk"),
    ("Tonga Standard Time", "Pacific/Tongatapu"),
    ("Transbaikal Standard Time", "Asia/Chita"),
    ("Turkey Standard Time", "Europe/Istanbul"),
    ("Turks And Caicos Standard Time", "America/Grand_Turk"),
    ("US Eastern Standard Time", "America/Indianapolis"),
    ("US Mountain Standard Time", "America/Phoenix"),
    ("UTC", "Etc/UTC"),
    ("UTC+12", "Etc/GMT-12"),
    ("UTC+13", "Etc/GMT-13"),
    ("UTC-02", "Etc/GMT+2"),
    ("UTC-08", "Etc/GMT+8"),
    ("UTC-09", "Etc/GMT+9"),
    ("UTC-11", "Etc/GMT+11"),
    ("Ulaanbaatar Standard Time", "Asia/Ulaanbaatar"),
    ("Venezuela Standard Time", "America/Caracas"),
    ("Vladivostok Standard Time", "Asia/Vladivostok"),
    ("Volgograd Standard Time", "Europe/Volgograd"),
    ("W. Australia Standard Time", "Australia/Perth"),
    ("W. Central Africa Standard Time", "Africa/Lagos"),
    ("W. Europe Standard Time", "Europe/Berlin"),
    ("W. Mongolia Standard Time", "Asia/Hovd"),
    ("West Asia Standard Time", "Asia/Tashkent"),
    ("West Bank Standard Time", "Asia/Hebron"),
    ("West Pacific Standard Time", "Pacific/Port_Moresby"),
    ("Yakutsk Standard Time", "Asia/Yakutsk"),
    ("Yukon Standard Time", "America/Whitehorse"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_zone_has_rules_and_stands_in_order() {
        assert_eq!(Zone::all().count(), ZONES.len());
        assert!(ZONES.is_sorted_by(|one, other| one.0 < other.0));
        for zone in Zone::all() {
            for unix_s in [0, 1_000_000_000, 4_000_000_000] {
                assert!((-12 * 60..=14 * 60).contains(&zone.at(unix_s).0), "{}", zone.name);
            }
        }
    }

    #[test]
    fn a_wall_clock_time_is_read_in_the_offset_before_a_change() {
        let pacific = Zone::named("pacific standard time").expect("a zone");
        // 2024-03-10 02:30 is skipped, 2024-11-03 01:30 comes twice.
        let local = |day_s: i64, minutes: i64| day_s + minutes * 60;
        let (march, november) = (1_710_028_800, 1_730_592_000);
        assert_eq!(pacific.at_local(local(march, 119)), (-480, false));
        assert_eq!(pacific.read_offset(local(march, 150)), -480);
        assert_eq!(pacific.at_local(local(march, 150)), (-420, true));
        assert_eq!(pacific.at_local(local(march, 180)), (-420, true));
        assert_eq!(pacific.at_local(local(november, 90)), (-420, true));
        assert_eq!(pacific.at_local(local(november, 120)), (-480, false));
        assert!(Zone::named(" UTC").is_none() && Zone::named("America/Los_Angeles").is_none());
    }
}
