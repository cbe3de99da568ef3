//! Something that answers like a hub: one answer for every request, and the requests are kept.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc;

pub struct FakeHub {
    pub url: String,
    requests: mpsc::Receiver<Request>,
}

/// A request that came.
#[derive(Debug)]
pub struct Request {
    /// Method and path with query.
    pub line: String,
    pub headers: String,
    pub body: String,
}

impl FakeHub {
    pub fn answering(status: u16, body: &'static str) -> Self {
        let head = format!("HTTP/1.1 {status} Status\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
        Self::saying(head + body)
    }

    /// The answer has a beginning and no end.
    pub fn breaking_off(body: &'static str) -> Self {
        let size = body.len();
        Self::saying(format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{size:x}\r\n{body}\r\n"))
    }

    fn saying(answer: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = read(&mut BufReader::new(&stream));
                stream.write_all(answer.as_bytes()).unwrap();
                if sender.send(request).is_err() {
                    return;
                }
            }
        });
        Self { url, requests }
    }

    /// The next request that was made.
    pub fn asked(&self) -> Request {
        self.requests.recv_timeout(std::time::Duration::from_secs(10)).expect("nothing was asked")
    }
}

fn read(stream: &mut impl BufRead) -> Request {
    let mut first = String::new();
    stream.read_line(&mut first).unwrap();
    let (mut headers, mut length, mut chunked) = (String::new(), 0, false);
    loop {
        let mut header = String::new();
        stream.read_line(&mut header).unwrap();
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        chunked |= header == "transfer-encoding: chunked";
        length = header.strip_prefix("content-length: ").map_or(length, |length| length.parse().unwrap());
        headers.push_str(&header);
        headers.push('\n');
    }
    let body = if chunked {
        read_chunks(stream)
    } else {
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        String::from_utf8(body).unwrap()
    };
    let line = first.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    Request { line, headers, body }
}

fn read_chunks(stream: &mut impl BufRead) -> String {
    let mut body = String::new();
    loop {
        let mut size = String::new();
        stream.read_line(&mut size).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        stream.read_exact(&mut chunk).unwrap();
        body.push_str(std::str::from_utf8(&chunk[..size]).unwrap());
        if size == 0 {
            return body;
        }
    }
}
