//! Inline namespaces that hold a version: what lies in them is called as if it lay outside.
//!
//! `std::__cxx11::to_string` is `std::to_string` in the source, `fmt::v9::format` is `fmt::format`,
//! and `absl::lts_20220623::Now` is `absl::Now`: libraries put a version into the names of the
//! linker, so that parts built against different ones do not meet. Nothing in a name tells that a
//! namespace is inline, so these are known by their looks:
//!
//! ```text
//! __cxx11, _V2, __8            libstdc++
//! __1, __ndk1, __Cr            libc++, that of Android and that of Chromium
//! v9, v10_0, v10_0abi9         fmt, range-v3, OpenVDB and many others
//! v2_mt_posix, v2s_mt_posix    Boost.Log
//! lts_20220623                 Abseil
//! json_abi_v3_11_2, inline_v3  JSON for Modern C++ and others
//! ```
//!
//! Names like those of the first two lines are the compiler's own. The others count only in names
//! with arguments, which are C++'s: `v1` is a usual name for a module in Rust, where none is
//! inline.

use memchr::memchr;

/// Whether a component, which is neither the first nor the last, is such a namespace. `is_called`
/// says that the name has arguments.
pub(super) fn is_version(component: &str, is_called: bool) -> bool {
    match component.as_bytes() {
        [b'_', b'_', ..] => {
            let rest = &component[2..];
            matches!(rest, "cxx11" | "Cr") || is_number(rest.strip_prefix("ndk").unwrap_or(rest))
        }
        [b'_', b'V', ..] => is_number(&component[2..]),
        [b'l', b't', b's', b'_', ..] => is_called && is_number(&component[4..]),
        [b'v', ..] => is_called && is_of_numbers(&component[1..]),
        [b'i' | b'j', ..] => is_called && is_abi(component),
        _ => false,
    }
}

/// `inline_v3`, `json_abi_v3_11_2`, `json_abi_diag_v3_11_2`.
fn is_abi(component: &str) -> bool {
    component.rsplit_once("_v").is_some_and(|(what, version)| {
        (what == "inline" || what.starts_with("json_abi")) && is_of_numbers(version)
    })
}

/// `9`, `10_0`, `10_0abi9`, `2_mt_posix`.
fn is_of_numbers(version: &str) -> bool {
    let version = version
        .strip_suffix("_mt_posix")
        .map_or(version, |version| version.strip_suffix('s').unwrap_or(version));
    let (numbers, abi) = version.split_once("abi").unwrap_or((version, "0"));
    is_number(abi) && numbers.split('_').all(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What lies in such namespaces, outside of them; `None` of a name that has none.
pub(super) fn without_versions(name: &str, is_called: bool) -> Option<String> {
    let bytes = name.as_bytes();
    let mut out = String::new();
    // What is in `out` ends here, and what has been looked at there.
    let (mut kept, mut at) = (0, 0);
    while let Some(colon) = memchr(b':', &bytes[at..]) {
        let begin = at + colon;
        at = begin + 1;
        let Some(rest) = name[begin..].strip_prefix("::") else { continue };
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = rest.bytes().take_while(|byte| is_word(byte)).count();
        at = begin + 2 + length;
        if rest[length..].starts_with("::") && is_version(&rest[..length], is_called) {
            out.push_str(&name[kept..begin]);
            kept = at;
        }
    }
    (kept > 0).then(|| out + &name[kept..])
}

#[cfg(test)]
mod tests {
    use super::without_versions;

    #[test]
    fn versions_are_left_out_of_names() {
        for (name, expected) in [
            ("std::__cxx11::to_string(int)", "std::to_string(int)"),
            ("std::chrono::_V2::system_clock::now()", "std::chrono::system_clock::now()"),
            ("std::__8::vector<int>::size() const", "std::vector<int>::size() const"),
            ("std::__ndk1::mutex::lock()", "std::mutex::lock()"),
            ("absl::lts_20220623::Now()", "absl::Now()"),
            ("fmt::v10::vformat(fmt::v10::string_view)", "fmt::vformat(fmt::string_view)"),
            ("openvdb::v10_0abi9::initialize()", "openvdb::initialize()"),
            ("boost::log::v2s_mt_posix::core::get()", "boost::log::core::get()"),
            ("nlohmann::json_abi_v3_11_2::f()", "nlohmann::f()"),
            ("a::v1::v2::f()", "a::f()"),
        ] {
            assert_eq!(without_versions(name, true).as_deref(), Some(expected), "{name}");
        }
        for name in [
            "v9::format()",
            "fmt::v9()",
            "fmt::v::f()",
            "fmt::v9x::f()",
            "a::lts_::f()",
            "a::v_1::f()",
            "a::detail_v2::f()",
            "a::__cxx::f()",
            "a::_V::f()",
            "a:v1::f()",
        ] {
            assert_eq!(without_versions(name, true), None, "{name}");
        }
        // A module of Rust.
        assert_eq!(without_versions("api::v1::serve", false), None);
        assert_eq!(without_versions("std::__1::sort", false).as_deref(), Some("std::sort"));
    }
}
