//! Where in a file each mutant goes, and what is written there so that it can be switched on.
//!
//! A function's value becomes a `return` before its first line, an operator a choice between two
//! expressions, an arm that is gone a guard. Operands stand once where `&&` and `||` change
//! places, and once for each mutant otherwise; only one of them is run.

use std::collections::BTreeMap;
use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::list::{Genre, Mutant};
use crate::render::{Edit, Piece};

/// The edits of a file, and the mutants that got no place in it.
pub struct Placed {
    /// The edits.
    pub edits: Vec<Edit>,
    /// Those without a place.
    pub unplaced: Vec<u32>,
}

/// Places the mutants of a file. `keep_const` are functions that constants need.
pub fn place(
    text: &str,
    mutants: &[(u32, &Mutant)],
    keep_const: &[String],
) -> Result<Placed, syn::Error> {
    let mut wanted: BTreeMap<(u8, usize), Vec<(u32, String)>> = BTreeMap::new();
    let mut unplaced = Vec::new();
    for &(id, mutant) in mutants {
        match mutant.span.start.offset(text) {
            Some(at) => {
                let of_place = wanted.entry((mutant.genre as u8, at)).or_default();
                of_place.push((id, mutant.replacement.clone()));
            }
            None => unplaced.push(id),
        }
    }
    let file = syn::parse_file(text)?;
    let mut placer = Placer { text, wanted, keep_const, edits: Vec::new() };
    placer.visit_file(&file);
    unplaced.extend(placer.wanted.into_values().flatten().map(|(id, _)| id));
    Ok(Placed { edits: placer.edits, unplaced })
}

struct Placer<'a> {
    text: &'a str,
    /// What is still to be placed, by genre and offset.
    wanted: BTreeMap<(u8, usize), Vec<(u32, String)>>,
    keep_const: &'a [String],
    edits: Vec<Edit>,
}

fn on(id: u32) -> String {
    format!("crate::mutant::on({id})")
}

/// Whether an expression holds a `let` that binds for what stands behind it.
fn binds(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

fn is_assignment(op: &syn::BinOp) -> bool {
    use syn::BinOp::{
        AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign,
        ShlAssign, ShrAssign, SubAssign,
    };
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitXorAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

fn bytes(span: Span) -> Range<usize> {
    span.byte_range()
}

impl Placer<'_> {
    fn take(&mut self, genre: Genre, at: usize) -> Vec<(u32, String)> {
        self.wanted.remove(&(genre as u8, at)).unwrap_or_default()
    }

    fn edit(&mut self, range: Range<usize>, pieces: Vec<Piece>, mutants: Vec<u32>) {
        self.edits.push(Edit { range, pieces, mutants });
    }

    /// A function: its values, and its `const`, which a switch does not go with.
    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let name = signature.ident.to_string();
        let keeps = self.keep_const.contains(&name);
        if let Some(token) = signature.constness.filter(|_| !keeps) {
            self.edit(bytes(token.span), vec![Piece::text("")], Vec::new());
        }
        let open = bytes(block.brace_token.span.open());
        let all = open.end..bytes(block.brace_token.span.close()).start;
        // Not those of functions within this one, which are visited first.
        let here: Vec<(u8, usize)> = self
            .wanted
            .range(
                (Genre::FnValue as u8, all.start)
                    ..(Genre::FnValue as u8, all.end.max(all.start + 1)),
            )
            .map(|(&key, _)| key)
            .collect();
        // What such a function gives has one type that nobody can name.
        let is_opaque = matches!(&signature.output, syn::ReturnType::Type(_, of) if matches!(**of, syn::Type::ImplTrait(_)));
        for key in here {
            for (id, value) in self.wanted.remove(&key).unwrap_or_default() {
                if is_opaque && value == "::std::iter::empty()" {
                    let pieces = vec![
                        Piece::text(format!(" crate::mutant::emptied({id}, {{")),
                        Piece::Original(all.clone()),
                        Piece::text("}) "),
                    ];
                    self.edit(all.clone(), pieces, vec![id]);
                    continue;
                }
                if is_opaque {
                    self.wanted.entry((u8::MAX, key.1)).or_default().push((id, value));
                    continue;
                }
                let pieces = vec![
                    Piece::text(format!(" if {} {{ return ", on(id))),
                    Piece::Branch(id, vec![Piece::text(value)]),
                    Piece::text("; }"),
                ];
                self.edit(open.end..open.end, pieces, vec![id]);
            }
        }
    }

    /// A choice between expressions, the unchanged one last.
    fn choice(&mut self, range: Range<usize>, changed: Vec<(u32, Vec<Piece>)>, same: Vec<Piece>) {
        let mut pieces = vec![Piece::text("(")];
        let mutants = changed.iter().map(|(id, _)| *id).collect();
        for (id, change) in changed {
            pieces.push(Piece::text(format!("if {} {{ ", on(id))));
            pieces.push(Piece::Branch(id, change));
            pieces.push(Piece::text(" } else "));
        }
        pieces.push(Piece::text("{ "));
        pieces.extend(same);
        pieces.push(Piece::text(" })"));
        self.edit(range, pieces, mutants);
    }

    fn binary(&mut self, expr: &syn::ExprBinary) {
        let op = bytes(expr.op.span());
        let found = self.take(Genre::BinaryOperator, op.start);
        if found.is_empty() {
            return;
        }
        if binds(&expr.left) || binds(&expr.right) {
            self.wanted.insert((Genre::BinaryOperator as u8, op.start), found);
            return;
        }
        let (left, right) = (bytes(expr.left.span()), bytes(expr.right.span()));
        let range = left.start..right.end;
        let lazy = match (&expr.op, found.as_slice()) {
            (syn::BinOp::And(_), [(id, other)]) if other == "||" => Some((*id, "!=")),
            (syn::BinOp::Or(_), [(id, other)]) if other == "&&" => Some((*id, "==")),
            _ => None,
        };
        if let Some((id, compared)) = lazy {
            let pieces = vec![
                Piece::text("({ let left: bool = "),
                Piece::Original(left),
                Piece::text(format!("; if left {compared} {} {{ ", on(id))),
                Piece::Original(right),
                Piece::text(" } else { left } })"),
            ];
            self.edit(range, pieces, vec![id]);
            return;
        }
        let place = is_assignment(&expr.op);
        let side = |of: &Range<usize>, bare: bool| {
            let (open, close) = if bare { ("", "") } else { ("(", ")") };
            [Piece::text(open), Piece::Original(of.clone()), Piece::text(close)]
        };
        let with = |op: &str| {
            let mut pieces = Vec::from(side(&left, place));
            pieces.push(Piece::text(format!(" {op} ")));
            pieces.extend(side(&right, false));
            pieces
        };
        let changed = found.iter().map(|(id, op)| (*id, with(op))).collect();
        let same = with(self.text.get(op).unwrap_or_default());
        self.choice(range, changed, same);
    }
}

impl<'ast> Visit<'ast> for Placer<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        visit::visit_item_fn(self, item);
        self.function(&item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        visit::visit_impl_item_fn(self, item);
        self.function(&item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        visit::visit_trait_item_fn(self, item);
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
    }

    fn visit_expr_binary(&mut self, expr: &'ast syn::ExprBinary) {
        self.binary(expr);
        visit::visit_expr_binary(self, expr);
    }

    fn visit_expr_unary(&mut self, expr: &'ast syn::ExprUnary) {
        let range = bytes(expr.span());
        let inner = bytes(expr.expr.span());
        let found = self.take(Genre::UnaryOperator, range.start);
        if !found.is_empty() {
            let op = self.text.get(range.start..inner.start).unwrap_or_default().to_owned();
            let changed =
                found.iter().map(|(id, _)| (*id, vec![Piece::Original(inner.clone())])).collect();
            self.choice(range, changed, vec![Piece::text(op), Piece::Original(inner)]);
        }
        visit::visit_expr_unary(self, expr);
    }

    fn visit_expr_match(&mut self, expr: &'ast syn::ExprMatch) {
        // A match that has no arm for something is an error of what it looks at.
        let arms = expr.arms.iter().map(|arm| (Genre::MatchArm as u8, bytes(arm.span()).start));
        let gone = arms.filter_map(|key| self.wanted.get(&key)).flatten().map(|(id, _)| *id);
        let gone: Vec<u32> = gone.collect();
        if !gone.is_empty() {
            let range = bytes(expr.expr.span());
            self.edit(range.clone(), vec![Piece::Original(range)], gone);
        }
        visit::visit_expr_match(self, expr);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let pattern = bytes(arm.pat.span());
        let gone = self.take(Genre::MatchArm, bytes(arm.span()).start);
        let stays: Vec<String> = gone.iter().map(|(id, _)| format!("!{}", on(*id))).collect();
        let mut mutants: Vec<u32> = gone.iter().map(|(id, _)| *id).collect();
        match &arm.guard {
            None if stays.is_empty() => {}
            None => {
                let pieces = vec![Piece::text(format!(" if {}", stays.join(" && ")))];
                self.edit(pattern.end..pattern.end, pieces, mutants);
            }
            Some((_, guard)) if binds(guard) => {
                self.wanted.entry((Genre::MatchArm as u8, pattern.start)).or_default().extend(gone);
            }
            Some((_, guard)) => {
                let range = bytes(guard.span());
                let (mut before, mut after) = (String::new(), String::new());
                for (id, value) in self.take(Genre::MatchArmGuard, range.start) {
                    let so = if value == "true" {
                        format!("{} ||", on(id))
                    } else {
                        format!("!{} &&", on(id))
                    };
                    before += &format!("({so} ");
                    after += ")";
                    mutants.push(id);
                }
                for stay in stays {
                    before += &format!("({stay} && ");
                    after += ")";
                }
                if !mutants.is_empty() {
                    let pieces = vec![
                        Piece::text(before + "("),
                        Piece::Original(range.clone()),
                        Piece::text(after + ")"),
                    ];
                    self.edit(range, pieces, mutants);
                }
            }
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, expr: &'ast syn::ExprStruct) {
        let range = bytes(expr.span());
        let mut changed = Vec::new();
        for pair in expr.fields.pairs() {
            let field = bytes(pair.value().span());
            let end = pair.punct().map_or(field.end, |comma| bytes(comma.span()).end);
            for (id, _) in self.take(Genre::StructField, field.start) {
                let without = vec![
                    Piece::Original(range.start..field.start),
                    Piece::Original(end..range.end),
                ];
                changed.push((id, without));
            }
        }
        if !changed.is_empty() {
            self.choice(range.clone(), changed, vec![Piece::Original(range)]);
        }
        visit::visit_expr_struct(self, expr);
    }
}
