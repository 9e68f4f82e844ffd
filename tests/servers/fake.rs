//! A server that speaks the language of any of the four kinds, and fails in whatever way it is told.
//!
//! It is a small model too: what it writes depends on the prompt only, so that a context that is sent anew is
//! continued where it ended.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Which language it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Vllm,
    Sglang,
    Llama,
    Ollama,
}

pub const KINDS: [Kind; 4] = [Kind::Vllm, Kind::Sglang, Kind::Llama, Kind::Ollama];

/// How it answers one request for text.
#[derive(Debug, Clone)]
pub enum Reply {
    /// As it should.
    Well,
    /// As it should, this long between two pieces.
    Slowly(Duration),
    /// Every byte in a packet of its own.
    ByteByByte,
    /// A status, further header lines, a body.
    Status(u16, &'static str, &'static str),
    /// So many pieces, then the connection is closed.
    Half(usize),
    /// So many pieces, then a proper end of the body without an end of the text.
    EndlessNot(usize),
    /// So many pieces, then silence.
    Stall(usize),
    /// A web page.
    Html,
    /// A line without an end.
    HugeLine,
    /// One piece over and over.
    Endless,
    /// A message that is not JSON, and an escape sequence in it.
    Nonsense,
    /// A failure inside the stream.
    FailInside,
}

/// What it was sent.
#[derive(Debug, Clone)]
pub struct Asked {
    pub authorization: Option<String>,
    pub body: serde_json::Value,
}

impl Asked {
    pub fn prompt(&self) -> String {
        self.body["prompt"].as_str().unwrap_or_default().to_owned()
    }
}

type Brain = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

struct Shared {
    kind: Kind,
    brain: Brain,
    replies: Mutex<Vec<Reply>>,
    asked: Mutex<Vec<Asked>>,
    listing: Mutex<Reply>,
    /// How often the list of models is still refused because the model loads.
    loading: AtomicUsize,
    stop: AtomicBool,
    /// Pieces written, to see back-pressure.
    written: AtomicUsize,
    /// Connections that are being answered.
    connected: AtomicUsize,
}

pub struct Fake {
    pub url: String,
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Fake {
    /// Answers well with what `brain` makes of a prompt.
    pub fn new(kind: Kind, brain: impl Fn(&str) -> Vec<String> + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0".parse().unwrap(), kind, Arc::new(brain))
    }

    /// Says these words, whatever it is asked, and then ends.
    pub fn saying(kind: Kind, words: &'static [&'static str]) -> Self {
        Self::new(kind, move |prompt| rest_of(words, &said(prompt)))
    }

    fn at(address: SocketAddr, kind: Kind, brain: Brain) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            kind,
            brain,
            replies: Mutex::default(),
            asked: Mutex::default(),
            listing: Mutex::new(Reply::Well),
            loading: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            written: AtomicUsize::new(0),
            connected: AtomicUsize::new(0),
        });
        let own = Arc::clone(&shared);
        let thread = std::thread::spawn(move || serve(&listener, &own));
        Self {
            url: format!("http://{address}"),
            address,
            shared,
            thread: Some(thread),
        }
    }

    /// How the next requests for text are answered, one each; after them, well.
    pub fn then(self, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.shared.replies.lock().unwrap().extend(replies);
        self
    }

    /// How the list of models is answered.
    pub fn listing(self, reply: Reply) -> Self {
        *self.shared.listing.lock().unwrap() = reply;
        self
    }

    /// Loads its model while it is asked so often.
    pub fn loading(self, times: usize) -> Self {
        self.shared.loading.store(times, Ordering::SeqCst);
        self
    }

    /// Requests for text so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }

    pub fn written(&self) -> usize {
        self.shared.written.load(Ordering::SeqCst)
    }

    pub fn connected(&self) -> usize {
        self.shared.connected.load(Ordering::SeqCst)
    }

    /// Closes every connection and listens no more; gives back how to bring it to life again.
    pub fn die(mut self) -> impl FnOnce() -> Self {
        self.stop();
        let (address, kind) = (self.address, self.shared.kind);
        let brain = Arc::clone(&self.shared.brain);
        move || Self::at(address, kind, brain)
    }

    fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // wakes the listener
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What the model has said in a chatml prompt: the text after the last beginning of its turn.
pub fn said(prompt: &str) -> String {
    prompt
        .rsplit_once("assistant\n")
        .map_or(prompt, |(_, said)| said)
        .to_owned()
}

/// The words that are left after `said`.
pub fn rest_of(words: &[&str], said: &str) -> Vec<String> {
    let mut so_far = String::new();
    let mut left = Vec::new();
    for word in words {
        so_far.push_str(word);
        if so_far.len() > said.len() {
            let from = word.len() - (so_far.len() - said.len()).min(word.len());
            left.push(word[from..].to_owned());
        }
    }
    left
}

fn serve(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut open = Vec::new();
    for stream in listener.incoming() {
        if shared.stop.load(Ordering::SeqCst) {
            break;
        }
        let Ok(stream) = stream else { continue };
        let own = Arc::clone(shared);
        open.push(std::thread::spawn(move || {
            // a client that goes away is no failure of the server
            own.connected.fetch_add(1, Ordering::SeqCst);
            let _ = answer(stream, &own);
            own.connected.fetch_sub(1, Ordering::SeqCst);
        }));
    }
    for thread in open {
        let _ = thread.join();
    }
}

fn answer(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let (mut length, mut authorization) = (0, None);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        match name.to_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "authorization" => authorization = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let asked = Asked {
        authorization,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    if ["/v1/completions", "/api/generate"].contains(&path.as_str()) {
        shared.asked.lock().unwrap().push(asked.clone());
        let reply = {
            let mut replies = shared.replies.lock().unwrap();
            if replies.is_empty() {
                Reply::Well
            } else {
                replies.remove(0)
            }
        };
        return text(&mut stream, shared, &asked, &reply);
    }
    about(&mut stream, shared, &path)
}

fn whole(stream: &mut TcpStream, status: u16, more: &str, body: &str) -> std::io::Result<()> {
    let kind = if body.starts_with('<') {
        "text/html"
    } else {
        "application/json"
    };
    write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n{more}\r\n{body}",
        body.len()
    )
}

/// Everything but text.
fn about(stream: &mut TcpStream, shared: &Shared, path: &str) -> std::io::Result<()> {
    if let Reply::Status(status, more, body) = &*shared.listing.lock().unwrap() {
        return whole(stream, *status, more, body);
    }
    let loads = |n: usize| n.checked_sub(1);
    let waits = &shared.loading;
    if waits
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, loads)
        .is_ok()
    {
        return whole(stream, 503, "", r#"{"error":{"message":"Loading model"}}"#);
    }
    let owner = match shared.kind {
        Kind::Vllm => "vllm",
        Kind::Sglang => "sglang",
        Kind::Llama => "llamacpp",
        Kind::Ollama => "library",
    };
    let body = match (path, shared.kind) {
        ("/v1/models", _) => serde_json::json!({"object": "list", "data": [
            {"id": "qwen-test", "object": "model", "owned_by": owner, "max_model_len": 4096}
        ]}),
        ("/version", Kind::Vllm) => serde_json::json!({"version": "0.32.0"}),
        ("/get_server_info", Kind::Sglang) => serde_json::json!({"version": "0.4.6"}),
        ("/props", Kind::Llama) => serde_json::json!({
            "build_info": "b1", "default_generation_settings": {"n_ctx": 2048},
            "chat_template": "{{ messages }}"
        }),
        ("/apply-template", Kind::Llama) => serde_json::json!({
            "prompt": "<|im_start|>system\n[[orgtop message 0]]<|im_end|>\n<|im_start|>user\n\
                       [[orgtop message 1]]<|im_end|>\n<|im_start|>assistant\n"
        }),
        ("/api/version", Kind::Ollama) => serde_json::json!({"version": "0.13.0"}),
        ("/api/show", Kind::Ollama) => serde_json::json!({
            "template": "<|im_start|>{{ .System }}", "model_info": {"x.context_length": 4096}
        }),
        _ => return whole(stream, 404, "", "{\"error\":\"not found\"}"),
    };
    whole(stream, 200, "", &body.to_string())
}

/// One message of a stream, as bytes on the wire.
fn message(kind: Kind, piece: Option<&str>, finish: Option<&str>) -> String {
    if kind == Kind::Ollama {
        let mut m = serde_json::json!({"model": "qwen-test", "response": piece.unwrap_or(""), "done": finish.is_some()});
        if let Some(why) = finish {
            m["done_reason"] = why.into();
        }
        return format!("{m}\n");
    }
    let text = piece.unwrap_or("");
    let logprobs = match (kind, piece) {
        // vLLM lists the marker that ends a turn, though its text does not show.
        (Kind::Vllm, None) if finish == Some("stop") => {
            serde_json::json!({"tokens": ["<|im_end|>"], "token_logprobs": [-0.5], "top_logprobs": [{"<|im_end|>": -0.5}]})
        }
        (_, None) => serde_json::Value::Null,
        (Kind::Llama, Some(t)) => serde_json::json!({"content": [
            {"id": 1, "token": t, "bytes": t.as_bytes(), "logprob": -0.25, "top_logprobs": []}
        ]}),
        // So are the first pieces of a character that is made of several.
        (Kind::Vllm, Some(t)) if t.chars().any(|c| c.len_utf8() == 4) => {
            serde_json::json!({"tokens": ["", "", t], "token_logprobs": [-1.5, -0.5, -0.25],
                "top_logprobs": [{"": -0.5}, {"": -1.0, "x": -2.0}, {t: -0.25}]})
        }
        (_, Some(t)) => {
            serde_json::json!({"tokens": [t], "token_logprobs": [-0.25], "top_logprobs": [{t: -0.25}]})
        }
    };
    let m = serde_json::json!({"choices": [
        {"index": 0, "text": text, "logprobs": logprobs, "finish_reason": finish}
    ]});
    format!("data: {m}\n\n")
}

fn text(
    stream: &mut TcpStream,
    shared: &Shared,
    asked: &Asked,
    reply: &Reply,
) -> std::io::Result<()> {
    let kind = shared.kind;
    match reply {
        Reply::Status(status, more, body) => return whole(stream, *status, more, body),
        Reply::Html => return whole(stream, 200, "", "<!doctype html><h1>hello</h1>"),
        _ => {}
    }
    let mime = if kind == Kind::Ollama {
        "application/x-ndjson"
    } else {
        "text/event-stream"
    };
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {mime}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )?;
    let put = |stream: &mut TcpStream, bytes: &[u8]| -> std::io::Result<()> {
        if shared.stop.load(Ordering::SeqCst) {
            return Err(std::io::ErrorKind::ConnectionAborted.into());
        }
        shared.written.fetch_add(1, Ordering::SeqCst);
        write!(stream, "{:x}\r\n", bytes.len())?;
        stream.write_all(bytes)?;
        stream.write_all(b"\r\n")
    };
    let nap = |time: Duration| {
        let end = std::time::Instant::now() + time;
        while std::time::Instant::now() < end && !shared.stop.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(2).min(time));
        }
    };
    let pieces = (shared.brain)(&asked.prompt());
    let limit = asked.body["max_tokens"]
        .as_u64()
        .or_else(|| asked.body["options"]["num_predict"].as_u64())
        .expect("every request is capped");
    let few = pieces.len() as u64 > limit;
    let pieces: Vec<String> = pieces
        .into_iter()
        .take(usize::try_from(limit).unwrap())
        .collect();
    let finish = if few { "length" } else { "stop" };
    match reply {
        Reply::HugeLine => loop {
            put(stream, &[b'x'; 4096])?;
        },
        Reply::Endless => loop {
            put(stream, message(kind, Some("again "), None).as_bytes())?;
        },
        Reply::Nonsense => {
            put(stream, b"data: \x1b]0;owned\x07{oops\n\n")?;
            return Ok(());
        }
        Reply::FailInside => {
            put(
                stream,
                message(kind, pieces.first().map(String::as_str), None).as_bytes(),
            )?;
            let error = r#"{"error":{"message":"out of memory"}}"#;
            let line = if kind == Kind::Ollama {
                format!("{error}\n")
            } else {
                format!("data: {error}\n\n")
            };
            put(stream, line.as_bytes())?;
            return stream.write_all(b"0\r\n\r\n");
        }
        _ => {}
    }
    for (i, piece) in pieces.iter().enumerate() {
        match reply {
            Reply::Half(n) if i == *n => return Ok(()),
            Reply::EndlessNot(n) if i == *n => return stream.write_all(b"0\r\n\r\n"),
            Reply::Stall(n) if i == *n => nap(Duration::from_secs(60)),
            Reply::Slowly(time) => nap(*time),
            _ => {}
        }
        let message = message(kind, Some(piece), None);
        if matches!(reply, Reply::ByteByByte) {
            for byte in message.as_bytes() {
                put(stream, &[*byte])?;
            }
        } else {
            put(stream, message.as_bytes())?;
        }
    }
    put(stream, message(kind, None, Some(finish)).as_bytes())?;
    if kind != Kind::Ollama {
        put(stream, b"data: [DONE]\n\n")?;
    }
    stream.write_all(b"0\r\n\r\n")
}
