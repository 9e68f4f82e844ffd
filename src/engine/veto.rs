//! Tokens that may not come next.
//!
//! Sampling stays what it is: only when the token that was drawn is forbidden is it masked and another one
//! drawn, so that whatever is allowed keeps its share. The engine knows nothing of why.

use super::contract::{Sampling, TokenId};
use super::sampler::{Choice, Key, sample};
use std::fmt;
use std::sync::Arc;

/// Draws of single tokens before the whole vocabulary is asked about.
const PATIENCE: usize = 8;

/// Judges the next token of one sequence.
pub trait Forbids: fmt::Debug + Send + Sync {
    /// Whether a token with these bytes (none for control tokens), or one that ends the turn, must not come
    /// next.
    fn forbids(&self, bytes: &[u8], eos: bool) -> bool;
}

/// A shared [`Forbids`]. Two are equal if they are the same one.
#[derive(Debug, Clone)]
pub struct Veto(pub Arc<dyn Forbids>);

impl PartialEq for Veto {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Chooses a token that is not forbidden, and says which ones were drawn before it. Where everything is
/// forbidden the first draw stands.
pub fn sample_unless(
    logits: &[f32],
    sampling: &Sampling,
    key: Key,
    position: usize,
    decoded: impl Iterator<Item = TokenId> + Clone,
    forbidden: impl Fn(TokenId) -> bool,
) -> Option<(Choice, Vec<TokenId>)> {
    let draw = |logits: &[f32], key: Key| sample(logits, sampling, key, position, decoded.clone());
    let first = draw(logits, key)?;
    if !forbidden(first.token) {
        return Some((first, Vec::new()));
    }
    let mut vetoed = vec![first.token];
    let mut masked = logits.to_vec();
    for attempt in 1.. {
        if let Some(last) = vetoed.last() {
            masked[*last as usize] = f32::NEG_INFINITY;
        }
        if attempt == PATIENCE {
            for (token, logit) in masked.iter_mut().enumerate() {
                if forbidden(token as TokenId) {
                    *logit = f32::NEG_INFINITY;
                }
            }
        }
        let Some(choice) = draw(&masked, key.again(attempt)) else {
            break;
        };
        if !forbidden(choice.token) {
            return Some((choice, vetoed));
        }
        if attempt > PATIENCE {
            break;
        }
        vetoed.push(choice.token);
    }
    Some((first, Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(logits: &[f32], position: usize, bad: &[TokenId]) -> (TokenId, Vec<TokenId>) {
        let sampling = Sampling {
            temperature: 1.0,
            top_p: None,
            ..Sampling::default()
        };
        let key = Key::new("organizer");
        let (choice, vetoed) =
            sample_unless(logits, &sampling, key, position, std::iter::empty(), |t| {
                bad.contains(&t)
            })
            .unwrap();
        (choice.token, vetoed)
    }

    #[test]
    fn allowed_tokens_keep_their_shares() {
        let logits = [1.0f32, 0.0, 2.0, 1.0];
        let mut counts = [0usize; 4];
        for position in 0..20_000 {
            let (token, vetoed) = choose(&logits, position, &[2]);
            counts[token as usize] += 1;
            let free = choose(&logits, position, &[]).0;
            // What would have been drawn anyway is drawn.
            assert!(free == 2 || (free == token && vetoed.is_empty()));
        }
        let total = 2.0 * 1f64.exp() + 1.0;
        for (token, weight) in [(0, 1f64.exp()), (1, 1.0), (3, 1f64.exp())] {
            let share = counts[token] as f64 / 20_000.0;
            assert!((share - weight / total).abs() < 0.015, "{token}: {share}");
        }
        assert_eq!(counts[2], 0);
    }

    #[test]
    fn a_rare_way_out_is_found_and_none_leaves_the_first_draw() {
        let logits: Vec<f32> = (0..500)
            .map(|i| if i == 499 { -30.0 } else { 0.0 })
            .collect();
        let bad: Vec<TokenId> = (0..499).collect();
        assert_eq!(choose(&logits, 3, &bad).0, 499);
        let all: Vec<TokenId> = (0..500).collect();
        let (token, vetoed) = choose(&logits, 3, &all);
        assert_eq!((token, vetoed), (choose(&logits, 3, &[]).0, vec![]));
    }
}
