//! Tests how much of a body is read, of hostile servers as well.
#![cfg(test)]

use super::tests::{Ending, local, post, server};

#[tokio::test]
async fn beginning_of_a_body_is_read_whatever_its_end() {
    for (answer, ending, (status, body), is_whole) in [
        (
            &b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc"[..],
            Ending::Closes,
            (200, &b"abc"[..]),
            Some(true),
        ),
        (
            b"HTTP/1.1 503 Busy\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n",
            Ending::Closes,
            (503, b""),
            Some(true),
        ),
        (
            b"HTTP/1.1 302 Found\r\nlocation: http://10.0.0.1/\r\ncontent-length: 0\r\n\r\n",
            Ending::Closes,
            (302, b""),
            Some(true),
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nabcdefgh",
            Ending::Closes,
            (200, b"abcdefgh"),
            Some(true),
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabcdefghi",
            Ending::Closes,
            (200, b"abcdefgh"),
            Some(false),
        ),
        (
            b"HTTP/1.1 200 OK\r\n\r\n",
            Ending::IsEndless,
            (200, b"xxxxxxxx"),
            Some(false),
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nab",
            Ending::Closes,
            (200, b"ab"),
            None,
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nab",
            Ending::IsSilent,
            (200, b"ab"),
            None,
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\n\x1f\x8bz",
            Ending::Closes,
            (200, b"\x1f\x8bz"),
            Some(true),
        ),
    ] {
        let told = String::from_utf8_lossy(answer);
        let port = server(answer, ending).await;
        let mut opened = post(&local(), &format!("http://127.0.0.1:{port}/"))
            .await
            .unwrap();
        let mut beginning = Vec::new();
        let read = opened.beginning(&mut beginning).await;
        assert_eq!((opened.status, beginning.as_slice()), (status, body), "{told}");
        assert_eq!(read.ok(), is_whole, "{told}");
    }
    let silent = server(b"", Ending::IsSilent).await;
    let late = post(&local(), &format!("http://127.0.0.1:{silent}/"))
        .await
        .unwrap_err();
    assert_eq!(late, "it took longer than 2 seconds");
}

#[tokio::test]
async fn whole_body_above_the_cap_is_refused() {
    for (answer, ending, expected) in [
        (
            &b"HTTP/1.1 404 Not Found\r\ncontent-length: 8\r\n\r\nabcdefgh"[..],
            Ending::Closes,
            Ok(b"abcdefgh".to_vec()),
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n",
            Ending::IsSilent,
            Err("it sends more than the 8 bytes that can be read"),
        ),
        (
            b"HTTP/1.1 200 OK\r\n\r\n",
            Ending::IsEndless,
            Err("it sends more than the 8 bytes that can be read"),
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nab",
            Ending::Closes,
            Err("it cannot be reached, or broke off"),
        ),
    ] {
        let port = server(answer, ending).await;
        let mut opened = post(&local(), &format!("http://127.0.0.1:{port}/"))
            .await
            .unwrap();
        let body = opened.whole().await.map_err(|error| error.to_string());
        assert_eq!(body, expected.map_err(str::to_owned));
    }
}
