//! A real Chromium for tests, spoken to over the pipe of its DevTools protocol.
//!
//! In: files. Out: what the page did: values of expressions, requests, dialogs, complaints. Limits: one tab at a time; a call that takes
//! longer than [`CALL_MAX`] fails the test.
//!
//! With `--remote-debugging-pipe` the browser reads JSON that ends in a NUL from descriptor 3, and writes it to descriptor 4.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A busy machine makes a browser slow.
const CALL_MAX: Duration = Duration::from_secs(60);
const END: u8 = 0;

/// A browser with one tab.
pub struct Browser {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    last_id: u64,
    session: Option<String>,
    /// What the browser reported since the file was opened.
    events: Vec<Value>,
}

impl Browser {
    /// `None` if there is no Chromium. Its profile and what it saves go into `dir`.
    pub fn start(dir: &Path) -> Option<Browser> {
        let mut command = Command::new("sh");
        // The shell gives the pipes the numbers that the browser expects.
        command.args(["-c", r#"exec "$@" 3<&0 4>&1 0</dev/null 1>&2"#, "sh", "chromium"]);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]);
        command.args(["--disable-background-networking", "--disable-extensions", "--remote-debugging-pipe"]);
        command.arg(format!("--user-data-dir={}", dir.join("profile").display())).arg("about:blank");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let is_there = std::env::split_paths(&std::env::var_os("PATH")?).any(|place| place.join("chromium").is_file());
        let mut child = is_there.then(|| command.spawn().expect("sh starts"))?;
        let (commands, output) = (child.stdin.take()?, child.stdout.take()?);
        let messages = read_messages(output);
        let mut browser = Browser { child, commands, messages, last_id: 0, session: None, events: Vec::new() };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        let saved = json!({ "behavior": "allow", "downloadPath": dir });
        browser.call("Browser.setDownloadBehavior", saved);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Opens a file in a window of that size. `first` is run before anything in it.
    pub fn open(&mut self, file: &Path, (width, height): (u32, u32), first: &str) {
        self.events.clear();
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        self.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": first }));
        self.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        self.wait_until(
            "document.readyState === 'complete' && document.documentElement.classList.contains('scripted')",
        );
    }

    /// The value of an expression, or of what it promises.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn wait_until(&mut self, expression: &str) {
        let promise = format!(
            "new Promise(done => {{ const look = () => ({expression}) ? done(true) : setTimeout(look, 20); look(); }})"
        );
        assert_eq!(self.value(&promise), json!(true), "{expression}");
    }

    /// A key that is pressed and released.
    pub fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Tab" => (9, ""),
            "Escape" => (27, ""),
            one if one.chars().count() == 1 => (0, one),
            _ => (0, ""),
        };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code, "text": text });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// What the pointer does: `mouseMoved`, `mousePressed` or `mouseReleased`, at a place of the window.
    pub fn point(&mut self, kind: &str, (x, y): (f64, f64)) {
        let pressed = if kind == "mouseMoved" { 0 } else { 1 };
        let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": pressed });
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Clicks the middle of the element that an expression names.
    pub fn click(&mut self, element: &str) {
        let place = self.value(&format!(
            "(() => {{ const node = {element}; node.scrollIntoView({{ block: 'center' }}); \
             const box = node.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ));
        let at = (place[0].as_f64().expect("a place"), place[1].as_f64().expect("a place"));
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            self.point(kind, at);
        }
    }

    /// Another size of the window.
    pub fn resize(&mut self, (width, height): (u32, u32)) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// What should not be there: errors, dialogs, and requests for anything but `file`.
    pub fn complaints(&mut self, file: &Path) -> Vec<String> {
        // What happened before this call is in the events now.
        self.value("1");
        let own = format!("file://{}", file.display());
        let is_bad = |event: &&Value| {
            let (method, params) = (event["method"].as_str().unwrap_or_default(), &event["params"]);
            let url = params["request"]["url"].as_str().unwrap_or_default();
            match method {
                "Network.requestWillBeSent" => url != own && !url.starts_with("data:") && !url.starts_with("blob:"),
                "Log.entryAdded" => params["entry"]["level"] != "info",
                "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Page.javascriptDialogOpening" => true,
                _ => false,
            }
        };
        self.events.iter().filter(is_bad).map(Value::to_string).collect()
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = self.session.as_ref().filter(|_| !method.starts_with("Browser.")) {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(END);
        self.commands.write_all(&bytes).expect("the browser reads");
        let deadline = Instant::now() + CALL_MAX;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = self.messages.recv_timeout(left).unwrap_or_else(|error| panic!("{method}: {error}"));
            if answer["id"] != self.last_id {
                self.events.push(answer);
                continue;
            }
            assert!(answer.get("error").is_none(), "{method}: {answer}");
            return answer["result"].clone();
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its helpers end with it. If it is gone already, there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The messages of the browser as they come, until it closes its end.
fn read_messages(output: ChildStdout) -> Receiver<Value> {
    let (sender, messages) = channel();
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        loop {
            let mut bytes = Vec::new();
            if output.read_until(END, &mut bytes).unwrap_or(0) == 0 {
                return;
            }
            bytes.pop();
            let message = serde_json::from_slice(&bytes).expect("the browser writes JSON");
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    messages
}
