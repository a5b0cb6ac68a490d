//! The options of every subcommand: how output looks.

use clap::Args;

use super::settings::Settings;
use crate::tui::Options;
use crate::tui::theme::ColorChoice;

/// How output looks.
#[derive(Clone, Copy, Debug, Args)]
pub struct Appearance {
    /// Use color; `auto` asks the terminal and NO_COLOR
    #[arg(long, help_heading = "Global options", global = true, value_name = "WHEN", value_parser = color, default_value = "auto")]
    pub(super) color: ColorChoice,
    /// Draw with plain ASCII characters only
    #[arg(long, help_heading = "Global options", global = true)]
    pub(super) ascii: bool,
}

impl Appearance {
    /// The same for the viewer.
    pub(super) fn viewer(self, mouse: bool, settings: &Settings) -> Options {
        let (keymap, colors) = (settings.keymap(false), settings.colors);
        Options {
            color: self.color,
            ascii: self.ascii,
            mouse,
            keymap,
            colors,
            configured: settings.change_reports(),
            ..Options::default()
        }
    }
}

fn color(text: &str) -> Result<ColorChoice, String> {
    match text {
        "auto" => Ok(ColorChoice::Auto),
        "always" => Ok(ColorChoice::Always),
        "never" => Ok(ColorChoice::Never),
        _ => Err("it is auto, always or never".into()),
    }
}
