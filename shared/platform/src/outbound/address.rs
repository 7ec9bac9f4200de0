//! Decides which addresses are public.
//!
//! Refuses all special-purpose blocks of the IANA registries, and every form in which an IPv6 address
//! contains an IPv4 address, because the network's routing decides what such an address reaches. (`is_global`
//! of the standard library would do, but is not stable.)

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Blocks of IPv4 that are not public: first address and prefix length.
const SPECIAL_V4: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),        // this network, unspecified
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // carrier-grade NAT; metadata of one cloud
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // loopback
    (Ipv4Addr::new(168, 63, 129, 16), 32), // metadata of one cloud, in public space
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // link-local; metadata of most clouds
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // protocol assignments; metadata of one cloud
    (Ipv4Addr::new(192, 0, 2, 0), 24),     // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24),  // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),   // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4),      // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),      // reserved, broadcast
];

/// The only block of IPv6 for public services. Outside it are loopback, unspecified, mapped and translated
/// IPv4 (`::ffff:0:0/96`, `64:ff9b::/96`, `64:ff9b:1::/48`), unique local, link-local, site-local and
/// multicast addresses.
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Blocks within `GLOBAL_V6` that are not public.
const SPECIAL_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments, Teredo
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// Whether an address is public and contains no other address.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|block| holds_v4(*block, address)),
        IpAddr::V6(address) => {
            // ISATAP embeds an IPv4 address behind any prefix.
            let [.., kind, isatap, _, _] = address.segments();
            let is_isatap = isatap == 0x5efe && (kind == 0 || kind == 0x200);
            holds_v6(GLOBAL_V6, address)
                && !is_isatap
                && !SPECIAL_V6.iter().any(|block| holds_v6(*block, address))
        }
    }
}

fn holds_v4((first, prefix): (Ipv4Addr, u32), address: Ipv4Addr) -> bool {
    (first.to_bits() ^ address.to_bits()).leading_zeros() >= prefix
}

fn holds_v6((first, prefix): (Ipv6Addr, u32), address: Ipv6Addr) -> bool {
    (first.to_bits() ^ address.to_bits()).leading_zeros() >= prefix
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_addresses_are_told_apart() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450:4001::200e",
            "2001:200::1",
            "3ffe::1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for special in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "169.254.170.2",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:1.1.1.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:1.1.1.1",
            "64:ff9b::8.8.8.8",
            "64:ff9b:1::10.0.0.1",
            "100::1",
            "2001::1",
            "2001:0:53aa:64c:0:fbff:ab:cdef",
            "2001:2::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:808:808::1",
            "2606:4700::5efe:10.0.0.1",
            "2606:4700::200:5efe:10.0.0.1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(special.parse().unwrap()), "{special}");
        }
    }

    proptest! {
        /// Compares with the stable predicates of the standard library.
        #[test]
        fn no_special_address_is_public(v4: u32, v6: u128) {
            let v4 = Ipv4Addr::from_bits(v4);
            if v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_multicast() || v4.is_broadcast()
                || v4.is_documentation() || v4.is_unspecified()
            {
                prop_assert!(!is_public(v4.into()));
            }
            let v6 = Ipv6Addr::from_bits(v6);
            if v6.is_loopback() || v6.is_unicast_link_local() || v6.is_unique_local() || v6.is_multicast() || v6.is_unspecified() {
                prop_assert!(!is_public(v6.into()));
            }
        }

        /// No IPv6 form of any IPv4 address is public.
        #[test]
        fn no_carried_address_is_public(v4: u32, prefix: u64) {
            let v4 = Ipv4Addr::from_bits(v4);
            let bits = u128::from(v4.to_bits());
            prop_assert!(!is_public(v4.to_ipv6_mapped().into()));
            prop_assert!(!is_public(v4.to_ipv6_compatible().into()));
            prop_assert!(!is_public(Ipv6Addr::from_bits((0x64_ff9b << 96) | bits).into()));
            prop_assert!(!is_public(Ipv6Addr::from_bits((0x2002 << 112) | (bits << 80)).into()));
            prop_assert!(!is_public(Ipv6Addr::from_bits((u128::from(prefix) << 64) | (0x5efe << 32) | bits).into()));
        }

        /// Every address of a special block, from the first to the last.
        #[test]
        fn whole_blocks_are_refused(host: u32, index in 0..SPECIAL_V4.len()) {
            let (first, prefix) = SPECIAL_V4[index];
            let mask = u32::MAX.checked_shr(prefix).unwrap_or(0);
            let address = Ipv4Addr::from_bits(first.to_bits() | (host & mask));
            prop_assert!(!is_public(address.into()), "{address}");
        }
    }
}
