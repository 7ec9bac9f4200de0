//! Removes white space as the reference does (handlebars.js 4.7, `compiler/whitespace-control.js`): next to a
//! tilde, and around blocks, comments and partials that are alone in their lines.

use super::tree::{Block, Content, Node, Program, Strip};
use super::words::is_space;

/// Removable white space around a statement.
#[derive(Default)]
struct Candidate {
    strip: Strip,
    open_standalone: bool,
    close_standalone: bool,
    inline_standalone: bool,
}

/// Removes the white space in a whole template.
pub fn control(root: &mut Program) {
    program(root, true);
}

fn program(program: &mut Program, is_root: bool) {
    for index in 0..program.body.len() {
        let Some(candidate) = program.body.get_mut(index).and_then(accept) else {
            continue;
        };
        let body = &mut program.body;
        let is_after_space = is_prev_space(body, index, is_root);
        let is_before_space = is_next_space(body, Some(index), is_root);
        if candidate.strip.close {
            omit_right(body.get_mut(index + 1), true);
        }
        if candidate.strip.open {
            omit_left(before(body, index), true);
        }
        if candidate.inline_standalone && is_after_space && is_before_space {
            omit_right(body.get_mut(index + 1), false);
            let indent = before(body, index).and_then(content).map(indent);
            if omit_left(before(body, index), false)
                && let Some(Node::Partial(partial)) = body.get_mut(index)
            {
                partial.indent = indent.unwrap_or_default();
            }
        }
        if candidate.open_standalone && is_after_space {
            if let Some(Node::Block(block)) = body.get_mut(index) {
                let first = block.program.as_mut().or(block.inverse.as_mut());
                omit_right(first.and_then(|program| program.body.first_mut()), false);
            } else if let Some(program) = body.get_mut(index).and_then(only_program) {
                omit_right(program.body.first_mut(), false);
            }
            omit_left(before(body, index), false);
        }
        if candidate.close_standalone && is_before_space {
            omit_right(body.get_mut(index + 1), false);
            if let Some(Node::Block(block)) = body.get_mut(index) {
                let last = block.inverse.as_mut().or(block.program.as_mut());
                omit_left(last.and_then(|program| program.body.last_mut()), false);
            } else if let Some(program) = body.get_mut(index).and_then(only_program) {
                omit_left(program.body.last_mut(), false);
            }
        }
    }
}

fn accept(node: &mut Node) -> Option<Candidate> {
    match node {
        Node::Content(_) => None,
        Node::Mustache(_, strip) => Some(Candidate {
            strip: *strip,
            ..Candidate::default()
        }),
        Node::Comment(strip) => Some(inline(*strip)),
        Node::Block(block) => Some(accept_block(block)),
        Node::Partial(partial) => Some(match &mut partial.program {
            Some(program) => {
                self::program(program, false);
                ended(program, partial.strip, partial.close_strip)
            }
            None => inline(partial.strip),
        }),
        Node::Decorator(decorator) => Some(match &mut decorator.program {
            Some(program) => {
                self::program(program, false);
                ended(program, decorator.strip, decorator.close_strip)
            }
            None => Candidate {
                strip: decorator.strip,
                ..Candidate::default()
            },
        }),
    }
}

fn inline(strip: Strip) -> Candidate {
    Candidate {
        strip,
        inline_standalone: true,
        ..Candidate::default()
    }
}

fn accept_block(block: &mut Block) -> Candidate {
    for branch in [&mut block.program, &mut block.inverse].into_iter().flatten() {
        program(branch, false);
    }
    let (open, close) = (block.open_strip, block.close_strip);
    let (Some(first), Some(inverse)) = (&mut block.program, &mut block.inverse) else {
        let only = block.program.as_mut().or(block.inverse.as_mut());
        return only.map_or_else(Candidate::default, |only| ended(only, open, close));
    };
    let candidate = Candidate {
        strip: Strip {
            open: open.open,
            close: close.close,
        },
        open_standalone: is_next_space(&first.body, None, false),
        close_standalone: {
            let inverse = chained(inverse);
            is_prev_space(inverse, inverse.len(), false)
        },
        inline_standalone: false,
    };
    if open.close {
        omit_right(first.body.first_mut(), true);
    }
    if block.inverse_strip.open {
        omit_left(first.body.last_mut(), true);
    }
    if block.inverse_strip.close {
        omit_right(chained(inverse).first_mut(), true);
    }
    if close.open {
        omit_left(chained(inverse).last_mut(), true);
    }
    let is_else_alone =
        is_prev_space(&first.body, first.body.len(), false) && is_next_space(chained(inverse), None, false);
    if is_else_alone {
        omit_left(first.body.last_mut(), false);
        omit_right(chained(inverse).first_mut(), false);
    }
    candidate
}

/// Handles a block with one branch.
fn ended(only: &mut Program, open: Strip, close: Strip) -> Candidate {
    let candidate = Candidate {
        strip: Strip {
            open: open.open,
            close: close.close,
        },
        open_standalone: is_next_space(&only.body, None, false),
        close_standalone: is_prev_space(&only.body, only.body.len(), false),
        inline_standalone: false,
    };
    if open.close {
        omit_right(only.body.first_mut(), true);
    }
    if close.open {
        omit_left(only.body.last_mut(), true);
    }
    candidate
}

/// Returns the body of the first branch after an `else`; for an `else if` it is the body of that block.
fn chained(inverse: &mut Program) -> &mut [Node] {
    let body = &mut inverse.body;
    if !inverse.is_chained || !matches!(body.first(), Some(Node::Block(block)) if block.program.is_some()) {
        return body;
    }
    let chained = body.iter_mut().find_map(|node| match node {
        Node::Block(block) => block.program.as_mut().map(|program| program.body.as_mut_slice()),
        _ => None,
    });
    chained.unwrap_or_default()
}

fn only_program(node: &mut Node) -> Option<&mut Program> {
    match node {
        Node::Partial(partial) => partial.program.as_mut(),
        Node::Decorator(decorator) => decorator.program.as_mut(),
        _ => None,
    }
}

fn before(body: &mut [Node], index: usize) -> Option<&mut Node> {
    body.get_mut(index.checked_sub(1)?)
}

fn content(node: &mut Node) -> Option<&mut Content> {
    match node {
        Node::Content(content) => Some(content),
        _ => None,
    }
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

/// Returns the white space at the end of the last line of a text.
fn indent(content: &mut Content) -> String {
    let kept = content.original.trim_end_matches(is_blank).len();
    content.original.get(kept..).unwrap_or_default().to_owned()
}

/// Returns whether white space with a newline precedes a position; at the beginning of the template, also
/// without a newline.
fn is_prev_space(body: &[Node], index: usize, is_root: bool) -> bool {
    let Some(previous) = index.checked_sub(1).and_then(|index| body.get(index)) else {
        return is_root;
    };
    let Node::Content(content) = previous else {
        return false;
    };
    let kept = content.original.trim_end_matches(is_space).len();
    let space = content.original.get(kept..).unwrap_or_default();
    space.contains('\n') || (is_root && index == 1 && kept == 0)
}

/// Returns whether white space with a newline follows a position, or begins a body; at the end of the
/// template, also without a newline.
fn is_next_space(body: &[Node], index: Option<usize>, is_root: bool) -> bool {
    let next = index.map_or(0, |index| index + 1);
    let Some(node) = body.get(next) else {
        return is_root;
    };
    let Node::Content(content) = node else {
        return false;
    };
    let rest = content.original.trim_start_matches(is_space);
    let space = content.original.len() - rest.len();
    let has_newline = content
        .original
        .get(..space)
        .is_some_and(|space| space.contains('\n'));
    has_newline || (is_root && body.get(next + 1).is_none() && rest.is_empty())
}

/// Removes white space at the beginning of a text: all of it, or up to the end of the line.
fn omit_right(node: Option<&mut Node>, is_all: bool) {
    let Some(content) = node.and_then(content) else {
        return;
    };
    if !is_all && content.is_right_stripped {
        return;
    }
    let kept = if is_all {
        content.text.trim_start_matches(is_space)
    } else {
        let rest = content.text.trim_start_matches(is_blank);
        let rest = rest.strip_prefix('\r').unwrap_or(rest);
        rest.strip_prefix('\n').unwrap_or(rest)
    };
    content.is_right_stripped = kept.len() != content.text.len();
    content.text = kept.to_owned();
}

/// Removes white space at the end of a text: all of it, or only in the last line. Returns whether there was
/// any.
fn omit_left(node: Option<&mut Node>, is_all: bool) -> bool {
    let Some(content) = node.and_then(content) else {
        return false;
    };
    if !is_all && content.is_left_stripped {
        return false;
    }
    let kept = match is_all {
        true => content.text.trim_end_matches(is_space).len(),
        false => content.text.trim_end_matches(is_blank).len(),
    };
    content.is_left_stripped = kept != content.text.len();
    content.text.truncate(kept);
    content.is_left_stripped
}
