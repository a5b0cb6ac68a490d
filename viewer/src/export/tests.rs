use super::format::Options;
use super::picture::{Picture, cut};
use super::{html, svg};
use crate::profile::{Profile, from_outline};
use crate::refine::Refined;
use crate::views::flame::Extent;

const EXTENT: Extent = Extent { width: 1 << 20, least: 1 << 10, levels: 400 };

fn written(profile: &Profile) -> [String; 2] {
    let refined = Refined::base(profile);
    let (mut page, mut picture) = (Vec::new(), Vec::new());
    html::FORMAT.write(&refined, &Options::default(), &mut page).unwrap();
    svg::FORMAT.write(&refined, &Options::default(), &mut picture).unwrap();
    [page, picture].map(|text| String::from_utf8(text).unwrap())
}

/// Many functions, most of which cost little, in calls that are deep.
fn wide_and_deep() -> Profile {
    let mut outline = "main 7\n".to_owned();
    for at in 0..1500 {
        outline.push_str(&format!("  f{at} {}\n    g{at} {}\n", at % 13, 9_000_000 / (at + 1)));
    }
    for depth in 1..1000 {
        outline.push_str(&format!("{}d{depth} 30000\n", "  ".repeat(depth)));
    }
    from_outline(&outline).unwrap()
}

#[test]
fn what_is_left_out_is_counted() {
    let profile = wide_and_deep();
    let refined = Refined::base(&profile);
    for most in [usize::MAX, 900, 20] {
        let picture = Picture::new(&refined, EXTENT, most);
        let boxes: Vec<_> = picture.lines.iter().flatten().collect();
        assert!(picture.extent.least >= EXTENT.least);
        assert!(boxes.len() <= most.max(2 * EXTENT.levels), "{}", boxes.len());
        // Whatever is not in a box of its own is in one that is left out: exclusive samples of the
        // rows that are there and what they lack are all there is.
        let own: u64 = boxes
            .iter()
            .filter_map(|of| Some(picture.row(of.row?).of(refined.metric).exclusive))
            .sum();
        let lacks = picture.lacks().join("; ");
        assert_eq!(own + picture.left_out_samples(), refined.shown, "{lacks}");
        assert!(lacks.contains(" left out, each below "), "{lacks}");
    }
}

#[test]
fn files_have_a_bounded_size() {
    let mut profile = wide_and_deep();
    for [page, picture] in [written(&profile), {
        for function in profile.functions.iter_mut() {
            function.name = format!("{}{}", function.name, "<\u{202e}".repeat(400)).into();
        }
        written(&profile)
    }] {
        assert!(page.len() < 20_000_000, "{}", page.len());
        assert!(picture.len() < 20_000_000, "{}", picture.len());
        assert!(picture.contains("left out"));
        assert!(!page.contains('\u{202e}') && !picture.contains('\u{202e}'));
    }
}

#[test]
fn a_page_has_the_rows_that_cost_most() {
    let mut outline = "main 0\n".to_owned();
    for at in 0..25_000 {
        outline.push_str(&format!("  f{at} {}\n", at + 1));
    }
    let [page, _] = written(&from_outline(&outline).unwrap());
    assert!(page.contains(" rows left out, each below "));
    assert!(page.contains("\"f24999\"") && !page.contains("\"f5\""));
    let (_, data) = page.split_once("id=\"profile\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let rows = data["rows"].as_array().unwrap().len();
    assert!((5000..=20_000).contains(&rows), "{rows}");
}

#[test]
fn a_name_of_a_megabyte_is_cut_and_that_is_said() {
    let profile = from_outline(&format!("main 1\n  {} 9\n", "x".repeat(1 << 20))).unwrap();
    let [page, picture] = written(&profile);
    assert!(page.len() < 50_000 && picture.len() < 20_000, "{} {}", page.len(), picture.len());
    assert!(page.contains("names are cut after 2000 characters"));
}

#[test]
fn a_page_asks_no_network_and_holds_what_it_needs() {
    let [page, _] = written(&from_outline("main 1\n  \"</script>\" 9\n").unwrap());
    assert!(page.contains("default-src 'none'"));
    assert_eq!(page.matches("</script>").count(), 2, "that of the profile and the page's own");
    for address in ["http://", "https://", "//cdn", "src=", "@import", "url("] {
        assert!(!page.contains(address), "{address}");
    }
}

#[test]
fn texts_are_cut_at_characters() {
    assert_eq!(cut("名前名前", 4), "名前名前");
    assert_eq!(cut("名前名前", 3), "名前…");
    assert_eq!(cut("a", 0), "a");
    assert_eq!(cut("", 3), "");
}
