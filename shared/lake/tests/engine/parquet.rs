//! Tests imports of Parquet files that are damaged, too deep, or changed while they are read.

use lake::{FileFormat, Stage};

use crate::formats::{every_type, parquet, refused};

/// DuckDB's readers take twice the time for each level of lists: a minute for 28.
#[tokio::test]
async fn parquet_with_too_many_levels_is_refused_by_its_footer() {
    let nested = |open: &str, close: &str, levels: usize| {
        format!("SELECT {}1{} AS json", open.repeat(levels), close.repeat(levels))
    };
    for (open, close) in [
        ("[", "]"),
        ("{'a': ", "}"),
        ("MAP {'a': ", "}"),
        ("[{'a': ", "}]"),
    ] {
        let levels_each = open.matches(['[', '{']).count();
        let (_folder, path) = parquet(&nested(open, close, 16 / levels_each));
        let staged = every_type().stage_file(0, FileFormat::Parquet, &path).await;
        assert_eq!(staged.unwrap().rows, 1, "{open}");
        for levels in [17, 24, 40] {
            let count = usize::div_ceil(levels, levels_each);
            let (_folder, path) = parquet(&nested(open, close, count));
            let error = every_type()
                .stage_file(0, FileFormat::Parquet, &path)
                .await
                .unwrap_err();
            assert_eq!(error.status(), 422, "{open}: {error}");
            for part in ["'json'", " levels; at most 16 can be read"] {
                assert!(error.message().contains(part), "{open}: no {part:?} in {error}");
            }
        }
    }
    let (_folder, path) = parquet(&format!(
        "{}, 1 AS n",
        nested("[", "]", 17).replace("json", "\"a[]\"")
    ));
    let error = every_type()
        .stage_file(0, FileFormat::Parquet, &path)
        .await
        .unwrap_err();
    assert!(
        error.message().contains("'a[]'") && error.message().contains("more than 16 levels"),
        "{error}"
    );
}

/// Times of 96 bits, alone and in a map, beside bytes.
const TIMES: &[u8] = include_bytes!("../fixtures/times.parquet");

#[tokio::test]
async fn parquet_is_staged_again_after_its_footer_was_changed() {
    let store = every_type();
    let input = store.directory.path().join("input");
    std::fs::write(&input, TIMES).unwrap();
    let mut import = store.engine.begin_import("acme");
    for n in 0..2 {
        let (stage, _) = store.stage(0);
        let segment_id = format!("segment-{n}");
        let stage = Stage {
            segment_id: &segment_id,
            ..stage
        };
        let staged = import.stage(stage, FileFormat::Parquet, &input).await.unwrap();
        assert_eq!(staged.accepted().unwrap().rows, 12);
        assert_ne!(std::fs::read(&input).unwrap(), TIMES);
    }
    let read = |n: u64| std::fs::read(store.directory.path().join(format!("segment-{n}.parquet"))).unwrap();
    assert_eq!(read(0), read(1));
}

#[tokio::test]
async fn damaged_parquet_is_told_as_such() {
    let (_folder, path) = parquet("SELECT n AS bigint, 'text ' || n AS string FROM range(50000) r(n)");
    let bytes = std::fs::read(&path).unwrap();
    let store = every_type();
    for (what, bytes) in [
        ("empty", Vec::new()),
        ("tiny", b"PAR1".to_vec()),
        ("cut off", bytes[..bytes.len() / 2].to_vec()),
        ("one byte less", bytes[..bytes.len() - 1].to_vec()),
        ("no footer", [&bytes[..bytes.len() / 2], b"PAR1"].concat()),
        ("footer alone", [b"PAR1", &bytes[bytes.len() - 200..]].concat()),
        ("encrypted", [&bytes[..bytes.len() - 4], b"PARE"].concat()),
        ("text", b"id\n1\n".to_vec()),
        ("zeros", vec![0; 1_000]),
    ] {
        let error = refused(&store, FileFormat::Parquet, bytes).await;
        assert!(error.message().starts_with("Table 't': the "), "{what}: {error}");
    }
    // A file with any changed byte is read or refused, and never causes an internal error.
    for bytes in [&bytes, TIMES] {
        for n in 0..60 {
            let mut damaged = bytes.to_vec();
            let at = 4 + (n * 7_919) % (damaged.len() - 12);
            damaged[at] ^= 0xff;
            if let Err(error) = store.stage_bytes(0, FileFormat::Parquet, damaged).await {
                assert!(matches!(error.status(), 422 | 408), "byte {at}: {error}");
            }
            let _ = std::fs::remove_file(store.directory.path().join("segment-0.parquet"));
        }
    }
}
