//! The page in a real browser: cursor, zoom, names, tables, files and keys do what they promise, and no text of a run becomes more than text.
//!
//! In: simulated runs. Out: what Chromium made of their pages. Limits: without Chromium the tests are skipped; the clipboard is replaced by
//! a variable, because a browser without a window has none.

mod devtools;

use crate::testing::{hostile, long_runs, quick, with_counter};
use analysis::Analysis;
use devtools::Browser;
use model::{CounterKind, CounterRole};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const WIDE: (u32, u32) = (1280, 900);
const NARROW: (u32, u32) = (390, 844);
/// Keeps what is copied, and finds what is seen.
const FIRST: &str = "
    Object.defineProperty(navigator, 'clipboard', { value: { writeText: async text => { window.copied = text; } } });
    window.all = (selector, from = document) => [...from.querySelectorAll(selector)];
    window.isSeen = node => node.getBoundingClientRect().width > 0;
    window.chartOf = start => all('svg.chart').find(svg => isSeen(svg) && svg.closest('figure').id.startsWith('figure-' + start));
    window.readouts = svg => all('.readout text', svg).map(node => node.textContent);
    window.ticks = svg => all('.ticks text', svg).map(node => node.textContent);
    window.levels = (svg, nth) => all('text', all('.levels', svg)[nth]).map(node => node.textContent);
    window.tableWith = (...heads) => all('main table').find(table => isSeen(table) && heads.every(head => headOf(table, head)));
    window.headOf = (table, name) => all('th', table).find(th => th.textContent === name);
    window.column = (table, name) => all('tbody tr', table).map(row => row.cells[headOf(table, name).cellIndex].textContent.trim());
    window.tool = (near, name) => all('.tools button', near).find(button => button.textContent === name);
    window.tableTool = (table, name) => tool(table.closest('.scroll').nextElementSibling.parentNode, name);
";

/// A page that is open in a browser.
struct OpenPage {
    browser: Browser,
    file: PathBuf,
    dir: TempDir,
}

impl OpenPage {
    /// `None` if there is no browser.
    fn of(analysis: &Analysis) -> Option<OpenPage> {
        let dir = tempfile::tempdir().expect("a directory");
        let Some(mut browser) = Browser::start(dir.path()) else {
            eprintln!("skipped: needs chromium");
            return None;
        };
        let file = dir.path().join("report.html");
        std::fs::write(&file, crate::html(analysis)).expect("it can be written");
        browser.open(&file, WIDE, FIRST);
        browser.value("all('details:not(.data)').forEach(details => { details.open = true; })");
        Some(OpenPage { browser, file, dir })
    }

    fn value(&mut self, expression: &str) -> Value {
        self.browser.value(expression)
    }

    fn texts(&mut self, expression: &str) -> Vec<String> {
        let value = self.value(expression);
        let texts = value.as_array().unwrap_or_else(|| panic!("{expression}: {value}"));
        texts.iter().map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
    }

    fn number(&mut self, expression: &str) -> f64 {
        self.value(expression).as_f64().unwrap_or_else(|| panic!("no number: {expression}"))
    }

    /// Where a part of the time axis of `chart` is in the window.
    fn place(&mut self, part: f64) -> (f64, f64) {
        let place = self.value(&format!(
            "(() => {{ const box = chart.getBoundingClientRect(), k = box.width / chart.viewBox.baseVal.width, d = chart.dataset; \
             return [box.x + k * (+d.left + {part} * (d.right - d.left)), box.y + k * (+d.top + 20)]; }})()"
        ));
        (place[0].as_f64().expect("a place"), place[1].as_f64().expect("a place"))
    }

    fn assert_silent(&mut self) {
        let complaints = self.browser.complaints(&self.file);
        assert!(complaints.is_empty(), "{complaints:#?}");
    }
}

/// A file that the browser saves.
fn saved(dir: &Path, end: &str) -> Vec<u8> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let files = std::fs::read_dir(dir).expect("a directory").flatten().map(|entry| entry.path());
        let found =
            files.filter(|path| path.to_string_lossy().ends_with(end)).find_map(|path| std::fs::read(path).ok());
        match found {
            Some(bytes) if !bytes.is_empty() => return bytes,
            _ if Instant::now() > deadline => panic!("no file `{end}` was saved"),
            // The browser writes it when it likes; there is nothing else to wait for.
            _ => std::thread::yield_now(),
        }
    }
}

/// The number at the end of a text: `standing 20.7k`, `12.5 s`.
fn number_in(text: &str) -> f64 {
    let word = text.trim_end_matches(" s").rsplit(' ').next().unwrap_or_default();
    let scale = match word.chars().last() {
        Some('k') => 1e3,
        Some('M') => 1e6,
        _ => 1.0,
    };
    word.trim_end_matches(['k', 'M']).parse::<f64>().unwrap_or_else(|_| panic!("no number: {text}")) * scale
}

/// A time in nanoseconds: `1.04 ms`.
fn nanos_in(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap_or_else(|| panic!("no time: {text}"));
    let scale = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        _ => 1e9,
    };
    number.parse::<f64>().unwrap_or_else(|_| panic!("no time: {text}")) * scale
}

/// The fields of a line without their quotes.
fn csv_fields(line: &str) -> Vec<String> {
    let (mut fields, mut is_quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            _ => fields.last_mut().expect("a field").push(letter),
        }
    }
    fields
}

/// Three points of 700 s, which are drawn in steps, with a counter each.
fn long_analysis() -> Analysis {
    let counter = ("disk", CounterRole::DeviceWriteOps, CounterKind::Counter, "ops");
    with_counter(long_runs(700), counter, |at_s| 50.0 * at_s.max(0.0) + 40.0 * (at_s / 9.0).sin())
}

#[test]
fn the_cursor_has_the_values_of_the_run_and_all_charts_share_it() {
    let analysis = long_analysis();
    let Some(mut page) = OpenPage::of(&analysis) else { return };
    page.browser.resize((1280, 4_000));
    page.value("window.chart = chartOf('timeline'), chart.scrollIntoView(), chart.focus()");
    for key in ["Home", "ArrowRight", "ArrowRight", "ArrowRight"] {
        page.browser.press(key);
    }
    let said = page.texts("readouts(chart)");
    let at_s = number_in(&said[0]);
    assert!(at_s > 1.0 && said[0].ends_with(" s"), "{said:?}");
    for (point, text) in analysis.points.iter().zip(&said[1..]) {
        let intervals = &point.series.as_ref().unwrap().intervals;
        let interval = intervals.iter().find(|i| (i.at_s + i.length_s / 2.0 - at_s).abs() < 0.05).expect("an interval");
        let shown = number_in(text);
        assert!((shown - interval.ops_per_s).abs() <= 0.006 * interval.ops_per_s, "{text}: {}", interval.ops_per_s);
    }
    let lines = "all('svg.chart').filter(svg => isSeen(svg) && svg.querySelector('.cursor')).map(svg => {
        const d = svg.dataset, x = +svg.querySelector('.cursor').getAttribute('x1');
        return (+d.from + (x - d.left) / (d.right - d.left) * (d.to - d.from)).toFixed(2); })";
    let places = page.texts(lines);
    assert!(places.len() > 1 && places.iter().all(|place| (number_in(place) - at_s).abs() < 0.02), "{places:?}");
    let at = page.place(0.5);
    page.browser.point("mouseMoved", at);
    let middle = page.texts("readouts(chart)");
    assert!((number_in(&middle[0]) - 350.0).abs() < 2.0, "{middle:?}");
    page.browser.point("mouseMoved", (2.0, 2.0));
    page.value("document.activeElement.blur()");
    assert_eq!(page.value("all('.cursor').length"), json!(0), "no cursor stays when the pointer has left");
    page.assert_silent();
}

#[test]
fn a_zoom_shows_every_interval_and_is_undone() {
    let Some(mut page) = OpenPage::of(&long_analysis()) else { return };
    page.value("window.chart = chartOf('timeline'), chart.scrollIntoView({ block: 'center' })");
    let before = page.texts("ticks(chart)");
    let (from, to) = (page.place(0.40), page.place(0.45));
    page.browser.point("mouseMoved", from);
    page.browser.point("mousePressed", from);
    page.browser.point("mouseMoved", ((from.0 + to.0) / 2.0, from.1));
    assert_eq!(page.value("all('.range', chart).length"), json!(1));
    page.browser.point("mouseMoved", to);
    page.browser.point("mouseReleased", to);
    assert_eq!(page.value("document.documentElement.hasAttribute('data-zoomed')"), json!(true));
    // 5 % of 700 s, and one more at either end.
    let drawn = page.number("all('path.zoomed', chart)[0].getAttribute('d').match(/[ML]/g).length");
    assert!((35.0..=39.0).contains(&drawn), "{drawn}");
    assert_eq!(page.value("all('.series', chart)[0].firstElementChild.getAttribute('display')"), json!("none"));
    let zoomed = page.texts("ticks(chart)");
    let inside = |text: &String| {
        let clock = text.trim_end_matches(" s");
        let seconds = clock.split(':').fold(0.0, |sum, part| 60.0 * sum + part.parse::<f64>().unwrap_or(f64::NAN));
        (279.0..=316.0).contains(&seconds)
    };
    assert!(zoomed.len() >= 3 && zoomed.iter().all(inside), "{zoomed:?}");
    let cursor = "(() => { const d = chart.dataset, x = +chart.querySelector('.cursor').getAttribute('x1'); \
                  return x >= +d.left && x <= +d.right; })()";
    assert_eq!(page.value(cursor), json!(true));
    // A chart that was out of sight follows when it comes into sight.
    page.value("window.other = chartOf('resources'), other.scrollIntoView({ block: 'center' })");
    page.browser.wait_until("other.hasAttribute('data-zoomed')");
    page.browser.press("Escape");
    page.browser.wait_until("!other.hasAttribute('data-zoomed')");
    page.value("chart.scrollIntoView({ block: 'center' })");
    page.browser.wait_until("!chart.hasAttribute('data-zoomed')");
    assert_eq!(page.texts("ticks(chart)"), before);
    assert_eq!(page.value("all('.zoomed', chart).length + all('[transform]', chart).length"), json!(0));
    page.value("chart.focus()");
    page.browser.press("+");
    assert_eq!(page.value("chart.hasAttribute('data-zoomed')"), json!(true));
    page.browser.press("-");
    assert_eq!(page.value("chart.hasAttribute('data-zoomed')"), json!(false));
    page.assert_silent();
}

#[test]
fn the_value_axis_follows_a_zoom_and_comes_back() {
    // A rate that grows by two each second, up to 1,400.
    let counter = ("disk", CounterRole::DeviceWriteOps, CounterKind::Counter, "ops");
    let analysis = with_counter(long_runs(700), counter, |at_s| at_s.max(0.0).powi(2));
    let Some(mut page) = OpenPage::of(&analysis) else { return };
    page.browser.resize((1280, 2_500));
    page.value("window.chart = chartOf('resources'), chart.scrollIntoView({ block: 'center' })");
    page.value("window.place = all('.levels', chart).length - 1");
    let before = page.texts("levels(chart, place)");
    let most = |labels: &[String]| labels.iter().map(|label| number_in(label)).fold(0.0, f64::max);
    assert!((1_000.0..=1_600.0).contains(&most(&before)), "{before:?}");
    let (from, to) = (page.place(0.10), page.place(0.20));
    for (kind, at) in [("mouseMoved", from), ("mousePressed", from), ("mouseMoved", to), ("mouseReleased", to)] {
        page.browser.point(kind, at);
    }
    page.browser.wait_until("chart.hasAttribute('data-zoomed')");
    let zoomed = page.texts("levels(chart, place)");
    // 280 at the right end of what is shown.
    assert!(zoomed.len() >= 2 && (100.0..=300.0).contains(&most(&zoomed)), "{zoomed:?}");
    let in_panel = "(() => { const panels = chart.dataset.panels.split(',').map(text => text.split(' ').map(Number)), [top, height] = panels[place]; \
        const marks = all('.zoomed', all('.plot', chart)[place]).filter(node => node.tagName === 'path').map(node => node.getBBox()); \
        return marks.length > 0 && marks.every(box => box.y > top && box.y < top + height / 2 && box.y + box.height <= top + height + 1); })()";
    assert_eq!(page.value(in_panel), json!(true), "the highest value shown is in the upper half of its panel");
    let lines = page.number("all('.levels', chart)[place].querySelector('path').getAttribute('d').match(/M/g).length");
    assert!((lines - zoomed.len() as f64).abs() < 0.5, "{lines} lines, {zoomed:?}");
    page.value("chart.focus()");
    page.browser.press("0");
    page.browser.wait_until("!chart.hasAttribute('data-zoomed')");
    assert_eq!(page.texts("levels(chart, place)"), before);
    page.assert_silent();
}

#[test]
fn panels_that_share_a_scale_share_it_in_a_zoom() {
    let Some(mut page) = OpenPage::of(&quick()) else { return };
    page.value("window.chart = chartOf('timeline-file-rndrd'), chart.scrollIntoView({ block: 'center' })");
    let ends = "chart.dataset.panels.split(',').map(text => text.split(' ').slice(2, 4).join(' '))";
    let before = page.texts(ends);
    assert!(before.len() > 1 && before.iter().all(|one| *one == before[0]), "{before:?}");
    page.value("chart.focus()");
    page.browser.press("+");
    page.browser.wait_until("chart.hasAttribute('data-zoomed')");
    let levels =
        page.texts("all('.levels', chart).map(group => all('text', group).map(node => node.textContent).join(' '))");
    assert!(levels.iter().all(|labels| labels.split(' ').count() >= 2), "{levels:?}");
    assert!(levels.iter().all(|labels| *labels == levels[0]), "{levels:?}");
    page.assert_silent();
}

#[test]
fn a_column_is_sorted_by_what_its_texts_mean() {
    let Some(mut page) = OpenPage::of(&crate::testing::stalled_stacks()) else { return };
    page.value("window.table = document.querySelector('#stalled-functions table'), window.last = table.rows[0].cells[table.rows[0].cells.length - 1].textContent");
    page.browser.click("headOf(table, last).querySelector('button')");
    let sorted: Vec<f64> =
        page.texts("column(table, last)").iter().map(|text| text.parse().expect("a number")).collect();
    assert!(sorted.len() > 1 && sorted.windows(2).all(|two| two[0] >= two[1]), "{sorted:?}");
    assert!(sorted[0] > 0.0 && sorted[sorted.len() - 1] < 0.0, "both signs: {sorted:?}");
    page.assert_silent();
}

#[test]
fn tables_are_sorted_by_value_and_copied() {
    let Some(mut page) = OpenPage::of(&quick()) else { return };
    page.value("window.table = tableWith('validity', 'p99')");
    let first = page.texts("column(table, 'p99')");
    for (order, sign) in [("descending", -1.0), ("ascending", 1.0)] {
        page.browser.click("headOf(table, 'p99').querySelector('button')");
        assert_eq!(page.value("headOf(table, 'p99').getAttribute('aria-sort')"), json!(order));
        let times: Vec<f64> = page.texts("column(table, 'p99')").iter().map(|text| sign * nanos_in(text)).collect();
        assert!(times.len() > 5 && times.is_sorted(), "{order}: {times:?}");
    }
    page.value("headOf(table, 'p99').querySelector('button').focus()");
    page.browser.press("Enter");
    assert_eq!(page.texts("column(table, 'p99')"), first, "the third time it is as it was");
    page.browser.click("tableTool(table, 'Markdown')");
    page.browser.wait_until("window.copied");
    let markdown = page.value("copied").as_str().unwrap_or_default().to_owned();
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    assert_eq!(markdown.lines().count(), first.len() + 2, "{markdown}");
    assert!(markdown.lines().all(|line| bars(line) == bars(markdown.lines().next().unwrap())), "{markdown}");
    assert!(markdown.lines().nth(1).is_some_and(|rule| rule.contains("---:")), "{markdown}");
    page.value("window.copied = undefined");
    page.browser.click("tableTool(table, 'CSV')");
    page.browser.wait_until("window.copied");
    let csv = page.value("copied").as_str().unwrap_or_default().to_owned();
    assert_eq!(csv.lines().count(), first.len() + 1, "{csv}");
    page.assert_silent();
}

#[test]
fn lines_are_hidden_charts_saved_and_keys_listed() {
    let Some(mut page) = OpenPage::of(&quick()) else { return };
    page.value("window.chart = all('svg.chart').find(svg => isSeen(svg) && svg.querySelector('.switch'))");
    page.value("window.key = chart.querySelector('.switch').dataset.key");
    let hidden = "all('.series', chart).filter(node => node.dataset.key === key && node.getAttribute('display') === 'none').length";
    page.browser.click("chart.querySelector('.switch')");
    assert!(page.number(hidden) > 0.0);
    assert_eq!(page.value("chart.querySelector('.switch').getAttribute('aria-pressed')"), json!("false"));
    page.value("chart.focus()");
    page.browser.press("1");
    assert_eq!(page.number(hidden), 0.0);
    page.browser.press("Tab");
    assert_eq!(
        page.value("document.activeElement.textContent"),
        json!("SVG"),
        "the keys lead from a chart to its tools"
    );
    page.browser.press("Enter");
    let svg = String::from_utf8(saved(page.dir.path(), ".svg")).expect("text");
    let parsed = roxmltree::Document::parse(&svg).expect("well-formed");
    assert!(parsed.descendants().any(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "title"))), "{svg}");
    assert!(!svg.contains("overlay"));
    let conditions = page
        .value("document.getElementById('measured').children[chart.closest('figure').dataset.measured].textContent");
    let words: Vec<&str> = conditions.as_str().unwrap_or_default().split(' ').collect();
    assert!(words.len() > 3, "{conditions}");
    let texts: Vec<&str> = parsed.descendants().filter_map(|node| node.text()).collect();
    assert!(
        words.iter().all(|word| texts.iter().any(|text| text.contains(word))),
        "the conditions are at its foot: {svg}"
    );
    assert!(svg.contains(".f-blue{fill:#0072b2}"), "it has its colours with it");
    page.browser.click("tool(chart.closest('figure'), 'PNG')");
    let png = saved(page.dir.path(), ".png");
    let width = u32::from_be_bytes(png[16..20].try_into().expect("a header"));
    assert_eq!((&png[1..4], f64::from(width)), (&b"PNG"[..], 2.0 * page.number("chart.viewBox.baseVal.width")));
    page.browser.press("?");
    assert_eq!(page.value("document.querySelector('dialog').open"), json!(true));
    page.browser.press("Escape");
    page.browser.wait_until("!document.querySelector('dialog').open");
    page.assert_silent();
}

#[test]
fn links_lead_to_their_places_and_nothing_is_wider_than_the_window() {
    let Some(mut page) = OpenPage::of(&quick()) else { return };
    let dead = page.texts(
        "all('a[href^=\"#\"]').map(link => link.getAttribute('href')).filter(href => !document.getElementById(href.slice(1)))",
    );
    assert!(dead.is_empty(), "{dead:?}");
    page.value("all('details').forEach(details => { details.open = false; })");
    for size in [WIDE, NARROW] {
        page.browser.resize(size);
        let width = page.number("document.documentElement.scrollWidth");
        assert!(width <= f64::from(size.0), "{width} of {}", size.0);
    }
    page.assert_silent();
}

#[test]
fn no_word_of_a_name_and_no_short_code_is_broken_on_a_narrow_screen() {
    let Some(mut page) = OpenPage::of(&quick()) else { return };
    page.browser.resize(NARROW);
    let lines = page.value(
        "(() => { const name = document.querySelector('table.cmp tbody th'); name.textContent = 'PostgreSQL transactions'; \
         const lines = (from, to) => { const range = document.createRange(); range.setStart(name.firstChild, from); \
         range.setEnd(name.firstChild, to); return range.getClientRects().length; }; return [lines(0, 10), lines(11, 23)]; })()",
    );
    assert_eq!(lines, json!([1, 1]));
    let highest = page.number(
        "(() => { const text = document.createElement('p'), code = document.createElement('code'); code.textContent = '--repeat 4'; \
         text.append('measure it again (', code, ')'); document.querySelector('main').append(text); let highest = 0; \
         for (let width = 110; width < 250; width += 5) { text.style.width = width + 'px'; \
         highest = Math.max(highest, code.getBoundingClientRect().height); } return highest; })()",
    );
    assert!(highest < 30.0, "two lines have 48 px: {highest}");
    page.assert_silent();
}

#[test]
fn no_text_of_a_run_becomes_markup_a_script_or_a_formula() {
    let Some(mut page) = OpenPage::of(&hostile()) else { return };
    assert_eq!(page.value("all('img, iframe, object, embed, link, base').length"), json!(0));
    assert_eq!(page.value("all('script').length"), json!(2), "the data and the script of the page");
    let attributes = "all('*').flatMap(node => node.getAttributeNames()).filter(name => name.startsWith('on') || name === 'style').length";
    assert_eq!(page.value(attributes), json!(0));
    page.value("window.charts = all('svg[data-panels]').filter(isSeen), charts[0].scrollIntoView(), charts[0].focus()");
    page.browser.press("End");
    // The picture of the answer comes before its table, and has its data behind it.
    page.value(
        "window.table = all('main table').find(table => isSeen(table) && table.tHead && !table.closest('figure'))",
    );
    page.browser.click("tableTool(table, 'Markdown')");
    page.browser.wait_until("window.copied");
    let markdown = page.value("copied").as_str().unwrap_or_default().to_owned();
    assert!(!markdown.contains('<') && !markdown.replace("\\]", "").contains("]("), "{markdown}");
    page.value("window.copied = undefined");
    page.browser.click("tableTool(table, 'CSV')");
    page.browser.wait_until("window.copied");
    let csv = page.value("copied").as_str().unwrap_or_default().to_owned();
    let is_formula = |field: String| field.starts_with(['=', '+', '@']);
    assert!(!csv.lines().flat_map(csv_fields).any(is_formula), "{csv}");
    page.browser.resize(NARROW);
    let width = page.number("document.documentElement.scrollWidth");
    assert!(width <= f64::from(NARROW.0), "{width}");
    page.assert_silent();
}
