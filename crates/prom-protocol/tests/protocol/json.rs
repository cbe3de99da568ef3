//! JSON as strangers write it: spellings, escapes, doubles, depth, numbers beyond any type.

use std::borrow::Cow;

use bytes::Bytes;
use prom_protocol::{ClientFrame, ErrorCode, Request};
use prom_types::{Headers, limits};

fn read<T>(text: &str, check: impl FnOnce(Result<Request<'_>, prom_protocol::frame::Refused>) -> T) -> T {
    let text = Bytes::copy_from_slice(text.as_bytes());
    check(Request::read(&text))
}

fn code(text: &str) -> Option<ErrorCode> {
    read(text, |read| read.err().map(|refused| refused.error.code()))
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[test]
fn what_is_not_one_object_is_bad_json() {
    let texts = [
        "",
        " ",
        "{",
        "}",
        "null",
        "7",
        "[]",
        "\"AUTH\"",
        "{}{}",
        "{} x",
        "{'op':'AUTH'}",
        "{\"op\":\"AUTH\",}",
        "{op:1}",
        "{\"op\":NaN}",
        "{\"op\":01}",
        "{\"op\":\"\u{1}\"}",
        "{\"op\":\"\\x\"}",
        "\u{feff}{\"op\":\"AUTH\"}",
        "{\"op\" \"AUTH\"}",
        "{\"op\":\"AUTH\"",
        "// {}",
        "[{\"op\":\"AUTH\"}]",
        "\u{c}{\"op\":\"AUTH\"}",
    ];
    for text in texts {
        assert_eq!(code(text), Some(ErrorCode::BadJson), "{text:?}");
    }
    assert_eq!(code(" \t\r\n{ \"op\" : \"AUTH\" } \n"), None);
}

#[test]
fn a_payload_is_carried_in_the_spelling_it_came_in() {
    for payload in [
        "null",
        " null ",
        "1e400",
        "-0",
        "123456789012345678901234567890.10",
        "\"\\u00e9\\/\"",
        "{\"a\":1,\"a\":2}",
        "[ 1 ]",
    ] {
        let text = format!("{{\"op\":\"PUBLISH\",\"topic\":\"a\",\"payload\":{payload}}}");
        read(&text, |request| match request.unwrap().frame {
            ClientFrame::Publish(publish) => assert_eq!(publish.payload.as_str(), payload.trim()),
            other => panic!("{other:?}"),
        });
    }
}

#[test]
fn a_null_payload_is_a_payload_and_none_is_not() {
    assert_eq!(code(r#"{"op":"PUBLISH","topic":"a","payload":null}"#), None);
    assert_eq!(code(r#"{"op":"PUBLISH","topic":"a"}"#), Some(ErrorCode::BadRequest));
    read(r#"{"op":"PUBLISH","events":[{"topic":"a","payload":null},{"topic":"a"}]}"#, |request| {
        let ClientFrame::PublishBatch(batch) = request.unwrap().frame else { panic!() };
        assert!(batch.events[0].as_ref().unwrap().payload.is_null());
        assert_eq!(batch.events[1].as_ref().unwrap_err().to_string(), "field `payload` is missing");
    });
}

#[test]
fn a_field_that_comes_twice_is_refused_as_ambiguous() {
    for text in [
        r#"{"op":"PUBLISH","op":"AUTH"}"#,
        r#"{"op":"AUTH","token":"a","token":"a"}"#,
        r#"{"op":"PUBLISH","topic":"a","payload":1,"payload":2}"#,
        r#"{"op":"PUBLISH","topic":"a","t\u006fpic":"b","payload":1}"#,
        r#"{"op":"PUBLISH","topic":"a","payload":1,"opts":{"key":"a","key":"b"}}"#,
        r#"{"op":"SUBSCRIBE","topic":"a","opts":{"from":"latest","from":"earliest"}}"#,
    ] {
        assert_eq!(code(text), Some(ErrorCode::BadRequest), "{text}");
        read(text, |read| {
            let told = read.unwrap_err().error.to_string();
            assert!(told.contains("duplicate field"), "{text}: {told}");
        });
    }
    assert_eq!(code(r#"{"op":"AUTH","new":1,"new":2}"#), None, "unknown fields are ignored, also twice");
}

#[test]
fn escapes_are_understood_in_every_text() {
    let text = r#"{"\u006fp":"\u0041CK","topic":"\u0061.b","group":"\u0067","id":"0192f0c1\u002d2345-7abc-8def-0123456789ab"}"#;
    read(text, |request| {
        let ClientFrame::Ack(ack) = request.unwrap().frame else { panic!() };
        assert_eq!((&*ack.topic, &*ack.group), ("a.b", "g"));
    });
    read(
        r#"{"op":"NACK","topic":"a","group":"g","id":"0192f0c123457abc8def0123456789ab","reason":"\"\\\n\u0000😀"}"#,
        |request| {
            let ClientFrame::Nack(nack) = request.unwrap().frame else { panic!() };
            assert_eq!(nack.reason, "\"\\\n\0😀");
        },
    );
    read(r#"{"op":"AUTH","token":"plain"}"#, |request| {
        let ClientFrame::Auth(auth) = request.unwrap().frame else { panic!() };
        assert!(matches!(auth.token, Some(Cow::Borrowed("plain"))), "what needs no escape is not copied");
    });
    read(
        r#"{"op":"SUBSCRIBE","topic":"\u002a\u002a","group":"\u0067","opts":{"filter":"\u002ea","memberId":"\u006d"}}"#,
        |request| {
            let ClientFrame::Subscribe(subscribe) = request.unwrap().frame else { panic!() };
            assert_eq!((&*subscribe.name.topic, subscribe.opts.filter.as_deref()), ("**", Some(".a")));
            assert_eq!(subscribe.opts.member_id.as_deref(), Some("m"));
        },
    );
}

#[test]
fn half_a_surrogate_pair_is_no_text() {
    for (field, whole) in [("topic", "a"), ("group", "g"), ("id", "x"), ("reason", "r")] {
        let frame = r#"{"op":"NACK","topic":"a","group":"g","id":"x","reason":"r"}"#;
        let half = frame.replace(&format!("\"{field}\":\"{whole}\""), &format!("\"{field}\":\"\\ud800\""));
        read(&half, |read| {
            assert_eq!(read.unwrap_err().error.to_string(), format!("field `{field}` must be a string"))
        });
    }
}

#[test]
fn lists_and_headers_are_counted_while_they_are_read() {
    let many = |item: &str| vec![item; 100_000].join(",");
    let frame = |opts: &str| format!(r#"{{"op":"PUBLISH","topic":"a","payload":1,"opts":{opts}}}"#);
    let cause = r#""01890a5d-ac96-774b-bcce-b302099a8057""#;
    let opts = format!(r#"{{"tags":[{}],"caused_by":[{}]}}"#, many(r#""""#), vec![cause; 5000].join(","));
    read(&frame(&opts), |request| {
        let ClientFrame::Publish(publish) = request.unwrap().frame else { panic!() };
        // One too many is enough to be refused.
        assert_eq!(publish.opts.tags.len(), limits::TAGS + 1);
        assert_eq!(publish.opts.caused_by.len(), limits::CAUSED_BY + 1);
    });
    let names: Vec<String> = (0..=limits::HEADERS).map(|n| format!(r#""x-{n}":"v""#)).collect();
    let told = serde_json::from_str::<Headers>(&format!("{{{},broken", names.join(","))).unwrap_err().to_string();
    assert!(told.contains("number of headers"), "{told}");
}

#[test]
fn half_a_surrogate_pair_is_no_payload() {
    let publish = |payload: &str| format!(r#"{{"op":"PUBLISH","topic":"a","payload":{payload}}}"#);
    for half in [r#""\ud800""#, r#"{"\udfff":1}"#, r#"["\ud83d","\ude00"]"#] {
        assert_eq!(code(&publish(half)), Some(ErrorCode::BadRequest), "{half}");
    }
    assert_eq!(code(&publish(r#"["\ud83d\ude00","\\ud800"]"#)), None);
    for (field, value) in [("key", r#""\ud800""#), ("headers", r#"{"x-a":"\ud800"}"#), ("tags", r#"["\ud800"]"#)] {
        let text = format!(r#"{{"op":"PUBLISH","topic":"a","payload":1,"opts":{{"{field}":{value}}}}}"#);
        assert_eq!(code(&text), Some(ErrorCode::BadRequest), "{field}");
    }
}

#[test]
fn depth_is_limited_in_the_payload_and_harmless_elsewhere() {
    let payload = |depth| format!("{{\"op\":\"PUBLISH\",\"topic\":\"a\",\"payload\":{}}}", nested(depth));
    assert_eq!(code(&payload(120)), None);
    assert_eq!(code(&payload(121)), Some(ErrorCode::TooLarge));
    assert_eq!(code(&payload(10_000)), Some(ErrorCode::TooLarge));
    assert_eq!(code(&payload(400_000)), Some(ErrorCode::TooLarge));
    let deep = nested(100_000);
    assert_eq!(code(&format!("{{\"op\":\"AUTH\",\"new\":{deep}}}")), None);
    for field in ["op", "topic", "group", "opts", "id", "ids", "offsets", "corr", "features", "token", "reason"] {
        for op in ["AUTH", "PUBLISH", "SUBSCRIBE", "ACK", "NACK", "MODACK"] {
            let rest = if field == "op" { String::new() } else { format!("\"op\":\"{op}\",") };
            let text = format!("{{{rest}\"{field}\":{deep}}}");
            assert!(code(&text).is_none_or(|code| code == ErrorCode::BadRequest), "{op} {field}");
        }
    }
    for inner in ["headers", "tags", "caused_by", "key", "id"] {
        let text = format!("{{\"op\":\"PUBLISH\",\"topic\":\"a\",\"payload\":1,\"opts\":{{\"{inner}\":{deep}}}}}");
        assert_eq!(code(&text), Some(ErrorCode::BadRequest), "{inner}");
    }
    for inner in ["from", "topics", "backoff", "filter", "maxAttempts", "memberId"] {
        let text = format!("{{\"op\":\"SUBSCRIBE\",\"topic\":\"a\",\"opts\":{{\"{inner}\":{deep}}}}}");
        assert_eq!(code(&text), Some(ErrorCode::BadRequest), "{inner}");
    }
    let text = format!(
        "{{\"op\":\"PUBLISH\",\"events\":[{{\"topic\":\"a\",\"payload\":{deep}}},{{\"topic\":\"a\",\"payload\":1}}]}}"
    );
    read(&text, |request| {
        let ClientFrame::PublishBatch(batch) = request.unwrap().frame else { panic!() };
        assert_eq!(batch.events[0].as_ref().unwrap_err().code(), ErrorCode::TooLarge);
        assert!(batch.events[1].is_ok(), "one does not spoil the other");
    });
}

#[test]
fn numbers_beyond_their_type_are_refused_by_name() {
    for number in ["1e3", "1.0", "-1", "18446744073709551616", "1e999", "99999999999999999999999999999999999"] {
        let modack = format!(
            "{{\"op\":\"MODACK\",\"topic\":\"a\",\"group\":\"g\",\"id\":\"0192f0c1-2345-7abc-8def-0123456789ab\",\"extend_ms\":{number}}}"
        );
        read(&modack, |read| assert!(read.unwrap_err().error.to_string().contains("`extend_ms`"), "{number}"));
        let publish =
            format!("{{\"op\":\"PUBLISH\",\"topic\":\"a\",\"payload\":1,\"opts\":{{\"partition\":{number}}}}}");
        read(&publish, |read| assert!(read.unwrap_err().error.to_string().contains("`opts.partition`"), "{number}"));
        let ack = format!("{{\"op\":\"ACK\",\"topic\":\"a\",\"group\":\"g\",\"offsets\":[[0,{number}]]}}");
        read(&ack, |read| assert!(read.unwrap_err().error.to_string().contains("`offsets`"), "{number}"));
    }
}

#[test]
fn a_correlation_of_each_kind_is_echoed_as_it_came() {
    for corr in ["7", "-7", "0", "1e3", "1.50", "18446744073709551616", "\"\"", "\"x\"", "\"\\u0041\\\"é\"", "\"7\""] {
        let text = format!("{{\"op\":\"AUTH\",\"corr\":{corr}}}");
        read(&text, |request| assert_eq!(request.unwrap().corr.unwrap().as_json(), corr.as_bytes()));
        let text = format!("{{\"corr\":{corr}, \"op\":\"NO\"}}");
        read(&text, |request| assert_eq!(request.unwrap_err().corr.unwrap().as_json(), corr.as_bytes()));
    }
    read("{\"op\":\"AUTH\",\"corr\":null}", |request| assert_eq!(request.unwrap().corr, None));
    for corr in ["true", "[]", "{}", &format!("\"{}\"", "x".repeat(63)), &"1".repeat(65)] {
        read(&format!("{{\"op\":\"AUTH\",\"corr\":{corr}}}"), |request| {
            let refused = request.unwrap_err();
            assert!(refused.corr.is_none() && refused.error.to_string().contains("`corr`"), "{corr}");
        });
    }
    read(&format!("{{\"op\":\"AUTH\",\"corr\":\"{}\"}}", "x".repeat(62)), |request| assert!(request.is_ok()));
}
