//! The text of paths: lines, hairlines and dots as steps from place to place.
//!
//! In: places in the units of a scene. Out: the text of the attribute `d`. Limits: places are rounded to a tenth of a unit, which cannot be
//! seen, those of areas to a unit, and the values of a curve lie at whole units of its x axis. Steps are between rounded places, so that no error adds up; several level steps in a row are one.

use std::fmt::Write;

/// A place, or a step, in tenths of a unit.
type Tenths = (i64, i64);

/// A line through `points`. Steps take half as much text as places.
pub fn path_data(points: &[(f64, f64)]) -> String {
    path_through(&points.iter().copied().map(tenths).collect::<Vec<_>>())
}

/// A line through many values. If they are apart, each lies at a whole unit of the x axis: half a unit between two values is not seen.
pub fn curve_data(points: &[(f64, f64)]) -> String {
    const MANY: usize = 16;
    const APART: f64 = 4.0;
    let width = points.last().zip(points.first()).map_or(0.0, |(last, first)| (last.0 - first.0).abs());
    if points.len() < MANY || width < APART * points.len() as f64 {
        return path_data(points);
    }
    path_through(&points.iter().map(|(x, y)| tenths((x.round(), *y))).collect::<Vec<_>>())
}

/// The outline of a filled area of many points, in whole units: half a unit of its edge cannot be seen, and areas of one stack still touch.
pub fn area_data(points: &[(f64, f64)]) -> String {
    path_through(&points.iter().map(|(x, y)| tenths((x.round(), y.round()))).collect::<Vec<_>>())
}

fn path_through(places: &[Tenths]) -> String {
    let mut path = PathText::default();
    if let Some(first) = places.first() {
        path.write('M', &[first.0, first.1]);
        steps_between(places).into_iter().for_each(|step| path.step(step));
    }
    path.d
}

/// Each of `lines` from one end to the other.
pub fn rules_data(lines: &[[(f64, f64); 2]]) -> String {
    let mut path = PathText::default();
    for [from, to] in lines.iter().map(|ends| ends.map(tenths)) {
        path.write('M', &[from.0, from.1]);
        path.step((to.0 - from.0, to.1 - from.1));
    }
    path.d
}

/// A line of no length at each of `points`.
pub fn dots_data(points: &[(f64, f64)]) -> String {
    let mut path = PathText::default();
    let mut last = (0, 0);
    for (nth, place) in points.iter().copied().map(tenths).enumerate() {
        path.write(if nth == 0 { 'M' } else { 'm' }, &[place.0 - last.0, place.1 - last.1]);
        path.write('h', &[0]);
        last = place;
    }
    path.d
}

/// The steps from each of `places` to the next. Level ones in one direction are joined, and those of no length left out.
fn steps_between(places: &[Tenths]) -> Vec<Tenths> {
    let mut steps: Vec<Tenths> = Vec::with_capacity(places.len());
    for two in places.windows(2) {
        let step = (two[1].0 - two[0].0, two[1].1 - two[0].1);
        match steps.last_mut() {
            Some(last) if last.1 == 0 && step.1 == 0 && last.0 * step.0 >= 0 => last.0 += step.0,
            Some(_) if step == (0, 0) => {}
            _ => steps.push(step),
        }
    }
    steps
}

fn tenths((x, y): (f64, f64)) -> Tenths {
    ((10.0 * x).round() as i64, (10.0 * y).round() as i64)
}

/// A path as far as it is written.
#[derive(Default)]
struct PathText {
    d: String,
    /// The command of the numbers written last.
    command: Option<char>,
    /// Whether the number written last has a fraction: a point then begins the next number.
    has_fraction: bool,
}

impl PathText {
    fn step(&mut self, step: Tenths) {
        match step {
            (dx, 0) => self.write('h', &[dx]),
            (0, dy) => self.write('v', &[dy]),
            (dx, dy) => self.write('l', &[dx, dy]),
        }
    }

    /// A command with its numbers. It is written once for several in a row, but for `M` and `m`, which would become lines.
    fn write(&mut self, command: char, numbers: &[i64]) {
        let is_repeated = self.command == Some(command) && !matches!(command, 'M' | 'm');
        if !is_repeated {
            self.d.push(command);
        }
        self.command = Some(command);
        for (nth, number) in numbers.iter().enumerate() {
            self.write_number(*number, nth > 0 || is_repeated);
        }
    }

    /// A number in tenths. Between numbers there is a space, unless a minus or a second point separates them.
    fn write_number(&mut self, tenths: i64, follows_number: bool) {
        let (whole, tenth) = (tenths.abs() / 10, tenths.abs() % 10);
        let begins_with_point = whole == 0 && tenth > 0;
        if follows_number && tenths >= 0 && !(begins_with_point && self.has_fraction) {
            self.d.push(' ');
        }
        let sign = if tenths < 0 { "-" } else { "" };
        let written = match (whole, tenth) {
            (whole, 0) => write!(self.d, "{sign}{whole}"),
            (0, tenth) => write!(self.d, "{sign}.{tenth}"),
            (whole, tenth) => write!(self.d, "{sign}{whole}.{tenth}"),
        };
        written.expect("writing to a String cannot fail");
        self.has_fraction = tenth > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places that a path of `M`, `l`, `h` and `v` goes through.
    fn places_of(d: &str) -> Vec<(f64, f64)> {
        let mut places: Vec<(f64, f64)> = Vec::new();
        for part in commands_of(d) {
            let numbers = numbers_of(&part[1..]);
            let from = *places.last().unwrap_or(&(0.0, 0.0));
            let mut at = from;
            match &part[..1] {
                "M" => places.push((numbers[0], numbers[1])),
                "h" => numbers.iter().for_each(|dx| {
                    at.0 += dx;
                    places.push(at);
                }),
                "v" => numbers.iter().for_each(|dy| {
                    at.1 += dy;
                    places.push(at);
                }),
                _ => numbers.chunks(2).for_each(|step| {
                    at = (at.0 + step[0], at.1 + step[1]);
                    places.push(at);
                }),
            }
        }
        places
    }

    /// The commands of a path, each with its numbers.
    fn commands_of(d: &str) -> Vec<String> {
        let mut commands: Vec<String> = Vec::new();
        for letter in d.chars() {
            if letter.is_ascii_alphabetic() {
                commands.push(String::new());
            }
            commands.last_mut().expect("a path begins with a command").push(letter);
        }
        commands
    }

    /// Numbers as the grammar of SVG paths separates them.
    fn numbers_of(text: &str) -> Vec<f64> {
        let mut numbers: Vec<String> = vec![String::new()];
        for letter in text.chars() {
            let last = numbers.last().expect("one at least");
            let is_next = letter == ' ' || (letter == '-' && !last.is_empty()) || (letter == '.' && last.contains('.'));
            if is_next {
                numbers.push(String::new());
            }
            if letter != ' ' {
                numbers.last_mut().expect("one at least").push(letter);
            }
        }
        numbers.iter().map(|number| number.parse().expect("a number")).collect()
    }

    #[test]
    fn a_path_goes_in_steps_between_rounded_places() {
        let points = [(10.04, 20.0), (10.56, 19.5), (20.0, 19.46), (5.0, 30.0)];
        assert_eq!(path_data(&points), "M10 20l.6-.5h9.4l-15 10.5");
        assert_eq!(path_data(&[(0.0, 0.0), (1.5, 0.5), (2.0, 3.0)]), "M0 0l1.5.5.5 2.5");
    }

    #[test]
    fn no_error_adds_up_over_thousands_of_steps() {
        let at = |nth: i32| (f64::from(nth) / 3.0, f64::from(nth * 7 % 5) / 7.0);
        let points: Vec<(f64, f64)> = (0..=3_000).map(at).collect();
        let places = places_of(&path_data(&points));
        assert_eq!(places.len(), points.len());
        let is_near = |(place, point): (&(f64, f64), &(f64, f64))| {
            (place.0 - point.0).abs() < 0.051 && (place.1 - point.1).abs() < 0.051
        };
        assert!(places.iter().zip(&points).all(is_near));
    }

    #[test]
    fn level_steps_are_one_and_steps_of_no_length_are_left_out() {
        let flat: Vec<(f64, f64)> = (0..=100).map(|nth| (f64::from(nth), 5.0)).collect();
        assert_eq!(path_data(&flat), "M0 5h100");
        assert_eq!(path_data(&[(0.0, 0.0), (3.0, 0.0), (1.0, 0.0), (1.0, 0.0), (1.0, 2.0)]), "M0 0h3-2v2");
        assert_eq!(path_data(&[(1.0, 1.0), (1.0, 1.0)]), "M1 1h0");
    }

    #[test]
    fn an_area_is_in_whole_units() {
        assert_eq!(area_data(&[(0.4, 10.6), (9.3, 8.4), (18.6, 9.6)]), "M0 11l9-3 10 2");
    }

    #[test]
    fn values_that_are_apart_lie_at_whole_units_of_the_x_axis_and_keep_their_heights() {
        let curve =
            |step: f64| -> Vec<(f64, f64)> { (0..40).map(|n| (f64::from(n) * step, f64::from(n % 7) / 7.0)).collect() };
        let apart = places_of(&curve_data(&curve(28.8)));
        assert!(apart.iter().zip(curve(28.8)).all(|(place, point)| {
            place.0.fract() == 0.0 && (place.0 - point.0).abs() <= 0.5 && (place.1 - point.1).abs() < 0.051
        }));
        assert_eq!(curve_data(&curve(0.7)), path_data(&curve(0.7)));
        assert_eq!(curve_data(&curve(28.8)[..3]), path_data(&curve(28.8)[..3]));
    }

    #[test]
    fn dots_are_lines_of_no_length_with_steps_between_them() {
        assert_eq!(dots_data(&[(1.0, 2.0), (3.5, 1.0)]), "M1 2h0m2.5-1h0");
        assert_eq!(rules_data(&[[(1.0, 2.0), (9.0, 2.0)], [(1.0, 2.0), (1.0, 4.5)]]), "M1 2h8M1 2v2.5");
    }
}
