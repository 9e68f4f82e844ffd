use super::*;
use proptest::prelude::*;

fn ids(n: u16) -> Vec<ThreadId> {
    std::iter::once(ThreadId::ORGANIZER)
        .chain((1..=n).filter_map(ThreadId::worker))
        .collect()
}

fn wanted(threads: &[ThreadId], free: usize) -> Wanted<'_> {
    Wanted {
        threads,
        lanes: threads.len(),
        free,
        choice: Choice::Automatic,
        zoomed: None,
        banner: 0,
        caption: 0,
    }
}

fn tiles(n: u16, free: usize, width: u16, height: u16) -> Option<Vec<(Rect, Slot)>> {
    match screen(Rect::new(0, 0, width, height), &wanted(&ids(n), free)).panes {
        Panes::Tiles(tiles) => Some(tiles),
        Panes::Rows(_) => None,
    }
}

#[test]
fn few_threads_leave_the_organizer_large() {
    let tiles = tiles(3, 0, 120, 36).unwrap();
    assert_eq!(tiles.len(), 4);
    let area = |i: usize| tiles[i].0.area();
    assert!((1..4).all(|i| area(0) > 2 * area(i)));
}

#[test]
fn the_spotlight_gives_the_organizer_the_whole_width() {
    let threads = ids(6);
    let wanted = Wanted {
        choice: Choice::Spotlight,
        ..wanted(&threads, 0)
    };
    for (width, height) in [(100, 30), (80, 24), (160, 48)] {
        let screen = screen(Rect::new(0, 0, width, height), &wanted);
        let Panes::Tiles(tiles) = screen.panes else {
            panic!("six workers fit {width}x{height}");
        };
        assert_eq!((tiles.len(), tiles[0].0.width), (7, width));
        let others = tiles[1..].iter().map(|t| t.0.area()).max();
        assert!(tiles[0].0.area() > 2 * others.unwrap_or(0));
    }
}

#[test]
fn a_fork_takes_the_place_of_a_free_slot() {
    let before = tiles(1, 2, 120, 36).unwrap();
    let after = tiles(2, 1, 120, 36).unwrap();
    let rects = |t: &[(Rect, Slot)]| t.iter().map(|(r, _)| *r).collect::<Vec<_>>();
    assert_eq!(rects(&before), rects(&after));
}

#[test]
fn more_threads_become_a_grid_and_then_rows() {
    assert!(tiles(12, 0, 160, 48).is_some());
    assert!(tiles(64, 0, 80, 24).is_none());
}

#[test]
fn left_and_right_find_the_nearest_tile() {
    let tiles = tiles(3, 0, 120, 36).unwrap();
    let one = ThreadId::worker(1).unwrap();
    assert_eq!(neighbour(&tiles, ThreadId::ORGANIZER, true), None);
    assert!(neighbour(&tiles, ThreadId::ORGANIZER, false).is_some());
    assert_eq!(neighbour(&tiles, one, true), Some(ThreadId::ORGANIZER));
}

proptest! {
    #[test]
    fn parts_never_overlap_and_never_leave_the_screen(
        width in 0_u16..700, height in 0_u16..200, n in 0_u16..80, free in 0_usize..9, choice in 0_usize..4,
        banner in 0u16..3, caption in 0_u16..6, zoom in any::<bool>()
    ) {
        let threads = ids(n);
        let choice = [Choice::Automatic, Choice::Split, Choice::Grid, Choice::Rows][choice];
        let zoomed = zoom.then_some(ThreadId::ORGANIZER);
        let area = Rect::new(0, 0, width, height);
        let s = screen(area, &Wanted { choice, banner, caption, zoomed, ..wanted(&threads, free) });
        let mut parts = vec![s.header, s.banner, s.timeline, s.caption, s.footer];
        match s.panes {
            Panes::Tiles(tiles) => parts.extend(tiles.iter().map(|(r, _)| *r)),
            Panes::Rows(r) => parts.push(r),
        }
        parts.retain(|r| r.area() > 0);
        for (i, a) in parts.iter().enumerate() {
            prop_assert_eq!(a.intersection(area), *a);
            for b in &parts[i + 1..] {
                prop_assert!(!a.intersects(*b), "{:?} {:?}", a, b);
            }
        }
    }
}
