//! Screens as pictures: characters and styles.

use crate::screen::Screen;
use crate::story;

#[test]
fn look() {
    for (w, h) in [(80, 24), (160, 48)] {
        println!("{}", Screen::live(w, h, &story::three_workers()).text());
        println!("{}", Screen::live(w, h, &story::killed()).text());
    }
        println!("{}", Screen::live(120, 36, &story::answered()).text());
        println!("{}", Screen::live(80, 24, &story::many(40)).text());
}
