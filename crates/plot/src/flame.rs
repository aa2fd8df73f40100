//! Stacks as bars below bars: a flame graph with its root on top.
//!
//! In: a tree of frames. Out: shapes in the scene. A frame is as wide as its share of the whole, and its callees are below it. Limits: what
//! is narrower than [`WIDTH_MIN`] is left out with all below it; a name that does not fit is cut, and is complete in the text that a browser
//! shows for the bar.

use crate::figure::{Colour, FlameFrame};
use crate::frame::{EDGE, LINE_HEIGHT, SMALL, draw_text};
use crate::scene::{Anchor, Ink, Scene, SceneShape};
use crate::text::text_width;

/// Height of a frame with the gap below it.
const ROW: f64 = 17.0;
/// Height of its bar.
const BAR: f64 = 16.0;
/// Between two frames side by side.
const SEAM: f64 = 0.6;
/// Narrower frames cannot be seen.
const WIDTH_MIN: f64 = 2.0;
/// Size of the names.
const NAME: u32 = 11;
/// Less room than this holds no name.
const NAME_WIDTH_MIN: f64 = 22.0;
/// Between two entries of the legend.
const GAP: f64 = 16.0;

/// Draws the legend and all frames from `top` on. Returns the height of the picture.
pub fn draw_flames(scene: &mut Scene, legend: &[(String, Colour, f64)], roots: &[FlameFrame], top: f64) -> f64 {
    let top = draw_legend(scene, legend, top);
    let whole: f64 = roots.iter().map(|root| root.value.max(0.0)).sum();
    let scale = if whole > 0.0 { (scene.width - 2.0 * EDGE) / whole } else { 0.0 };
    let depth = draw_frames(scene, roots, (EDGE, top), scale);
    top + depth as f64 * ROW + 12.0
}

/// Draws `frames` side by side and what is below them; returns how many rows that took.
fn draw_frames(scene: &mut Scene, frames: &[FlameFrame], (left, top): (f64, f64), scale: f64) -> usize {
    let (mut x, mut deepest) = (left, 0);
    for frame in frames {
        let width = frame.value.max(0.0) * scale;
        if width >= WIDTH_MIN {
            draw_frame(scene, frame, (x, top), width);
            deepest = deepest.max(1 + draw_frames(scene, &frame.callees, (x, top + ROW), scale));
        }
        x += width;
    }
    deepest
}

fn draw_frame(scene: &mut Scene, frame: &FlameFrame, (x, y): (f64, f64), width: f64) {
    let FlameFrame { name, detail, colour, opacity, .. } = frame;
    let title = if detail.is_empty() { name.clone() } else { format!("{name}: {detail}") };
    let (ink, opacity, bar) = (Ink::Data(*colour), *opacity, width - SEAM);
    scene.shapes.push(SceneShape::Titled { x, y, width: bar, height: BAR, ink, opacity, title });
    if bar >= NAME_WIDTH_MIN {
        let name = cut_to(name, bar - 6.0);
        draw_text(scene, (x + 3.0, y + 12.0), name, NAME, Anchor::Start, Ink::Text);
    }
}

/// As much of `name` as fits, with `..` for the rest.
fn cut_to(name: &str, width: f64) -> String {
    if text_width(name, NAME) <= width {
        return name.to_owned();
    }
    let room = width - text_width("..", NAME);
    let mut kept = String::new();
    let mut used = 0.0;
    for c in name.chars() {
        used += text_width(c.encode_utf8(&mut [0; 4]), NAME);
        if used > room {
            break;
        }
        kept.push(c);
    }
    kept + ".."
}

/// The colours with their meanings, side by side. Returns their lower end.
fn draw_legend(scene: &mut Scene, legend: &[(String, Colour, f64)], top: f64) -> f64 {
    let (mut x, mut y) = (EDGE, top);
    for (label, colour, opacity) in legend {
        let width = 14.0 + 5.0 + text_width(label, SMALL) + GAP;
        if x > EDGE && x + width > scene.width - EDGE {
            (x, y) = (EDGE, y + LINE_HEIGHT);
        }
        let (ink, opacity) = (Ink::Data(*colour), *opacity);
        scene.shapes.push(SceneShape::Rect { x, y: y + 2.0, width: 14.0, height: 12.0, ink, opacity });
        draw_text(scene, (x + 19.0, y + 13.0), label.clone(), SMALL, Anchor::Start, Ink::Faint);
        x += width;
    }
    if legend.is_empty() { top } else { y + LINE_HEIGHT + 6.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(name: &str, value: f64, callees: Vec<FlameFrame>) -> FlameFrame {
        let detail = format!("{value} threads");
        FlameFrame { name: name.into(), value, detail, colour: Colour::Orange, opacity: 0.5, callees }
    }

    /// Names with left edge, top and width of the bars.
    fn bars(roots: &[FlameFrame]) -> Vec<(String, f64, f64, f64)> {
        let mut scene = Scene { width: 2.0 * EDGE + 100.0, ..Scene::default() };
        draw_flames(&mut scene, &[], roots, 0.0);
        let bar = |shape: &SceneShape| match shape {
            SceneShape::Titled { x, y, width, title, .. } => Some((title.clone(), *x - EDGE, *y, *width + SEAM)),
            _ => None,
        };
        scene.shapes.iter().filter_map(bar).collect()
    }

    #[test]
    fn a_frame_is_as_wide_as_its_share_and_its_callees_are_below_it() {
        let roots = [
            frame("main", 6.0, vec![frame("wait", 4.0, vec![]), frame("work", 1.0, vec![])]),
            frame("io", 2.0, vec![frame("poll", 2.0, vec![])]),
        ];
        let drawn = bars(&roots);
        let place =
            |name: &str| drawn.iter().find(|bar| bar.0.starts_with(name)).map(|bar| (bar.1, bar.2, bar.3)).unwrap();
        assert_eq!(place("main"), (0.0, 0.0, 75.0));
        assert_eq!(place("wait"), (0.0, ROW, 50.0));
        assert_eq!(place("work"), (50.0, ROW, 12.5));
        assert_eq!(place("poll"), (75.0, ROW, 25.0));
        assert_eq!(drawn.iter().find(|bar| bar.0.starts_with("wait")).unwrap().0, "wait: 4 threads");
    }

    #[test]
    fn what_is_too_narrow_is_left_out_and_nothing_is_drawn_of_nothing() {
        let narrow = frame("narrow", 1.0, vec![frame("below", 1.0, vec![])]);
        let drawn = bars(&[frame("wide", 99.0, vec![]), narrow]);
        assert_eq!(drawn.len(), 1, "{drawn:?}");
        assert!(bars(&[]).is_empty() && bars(&[frame("nothing", 0.0, vec![])]).is_empty());
        assert!(bars(&[frame("not a number", f64::NAN, vec![])]).is_empty());
    }

    #[test]
    fn a_long_name_is_cut_to_its_bar() {
        let name = "a_very_long_name_of_a_function_that_does_not_fit".to_owned();
        let cut = cut_to(&name, 100.0);
        assert!(cut.ends_with("..") && text_width(&cut, NAME) <= 100.0 && cut.len() > 8, "{cut}");
        assert_eq!(cut_to("poll", 100.0), "poll");
    }
}
