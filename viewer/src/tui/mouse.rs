//! What events of the mouse mean: two clicks on one cell are a double click.

use std::time::{Duration, Instant};

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::message::Message;

/// Two clicks on one cell within this time are a double click.
const DOUBLE_CLICK: Duration = Duration::from_millis(400);

/// The mouse, with the last click that may yet become a double click.
#[derive(Debug, Default)]
pub(super) struct Mouse {
    last_click: Option<(u16, u16, Instant)>,
}

impl Mouse {
    /// Forgets the last click: what was clicked may not be there any more.
    pub(super) fn forget_click(&mut self) {
        self.last_click = None;
    }

    /// The message that an event stands for.
    pub(super) fn message(&mut self, mouse: MouseEvent) -> Option<Message> {
        let (x, y) = (mouse.column, mouse.row);
        let last = self.last_click.take();
        match mouse.kind {
            MouseEventKind::Drag(MouseButton::Left) => Some(Message::Drag { x, y }),
            MouseEventKind::Down(MouseButton::Right) => Some(Message::RightClick { x, y }),
            MouseEventKind::Down(MouseButton::Left) => {
                let now = Instant::now();
                let is_double = last.is_some_and(|(last_x, last_y, then)| {
                    (last_x, last_y) == (x, y) && now.duration_since(then) < DOUBLE_CLICK
                });
                if is_double {
                    // A third click is a first one again.
                    return Some(Message::DoubleClick { x, y });
                }
                self.last_click = Some((x, y, now));
                Some(Message::Click { x, y })
            }
            MouseEventKind::ScrollUp => Some(Message::Wheel(-1)),
            MouseEventKind::ScrollDown => Some(Message::Wheel(1)),
            // The button comes up between two clicks, and the mouse may tremble.
            _ => {
                self.last_click = last;
                None
            }
        }
    }
}
