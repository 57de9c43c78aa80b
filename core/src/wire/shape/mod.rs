//! The first walk over a body: is it shaped as its schema says, before anything is allocated?
//!
//! The generated readers never trust a claimed length, but they take a null array for an empty
//! one, and reserve forty bytes for each tagged field that is claimed to follow. This walk
//! allocates nothing. It refuses nulls where the schema has none, lengths beyond what has
//! arrived, and more elements than [`Limits::max_elements`](super::Limits) allows, so that what
//! the readers build is bounded by a small multiple of the frame (spec 1.4; P-kind "a dozen
//! bytes that end the process").

mod admin_requests;
mod admin_responses;
#[cfg(test)]
pub(super) mod canonical;
pub(super) mod generate;
mod group_responses;
mod requests;
mod responses;

use thiserror::Error;

/// Stands for "and every later version" and, in [`Field::null_from`], for "never".
const MAX: i16 = i16::MAX;

/// What a field holds.
pub(super) enum Kind {
    /// This many bytes.
    Fixed(usize),
    /// A string.
    Str,
    /// Bytes or records.
    Blob,
    /// An array.
    Array(&'static Kind),
    /// A nested struct.
    Struct(&'static [Field]),
}

/// One field of a schema.
pub(super) struct Field {
    name: &'static str,
    kind: Kind,
    first: i16,
    last: i16,
    null_from: i16,
    tag: Option<u32>,
}

/// One message's schema.
pub(super) struct Shape {
    key: i16,
    flexible: i16,
    fields: &'static [Field],
}

const fn f(name: &'static str, kind: Kind, first: i16, last: i16) -> Field {
    Field { name, kind, first, last, null_from: MAX, tag: None }
}

impl Field {
    const fn null(self, from: i16) -> Self {
        Self { null_from: from, ..self }
    }

    const fn tag(self, tag: u32) -> Self {
        Self { tag: Some(tag), ..self }
    }

    const fn is_in(&self, version: i16) -> bool {
        self.first <= version && version <= self.last
    }
}

/// Every request.
const REQUESTS: &[&[Shape]] = &[requests::SHAPES, admin_requests::SHAPES];
/// Every response.
const RESPONSES: &[&[Shape]] = &[responses::SHAPES, admin_responses::SHAPES];

fn shape_of(shapes: &'static [&'static [Shape]], key: i16) -> Option<&'static Shape> {
    shapes.iter().copied().flatten().find(|shape| shape.key == key)
}

/// How a body differs from its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ShapeFault {
    /// The body ends inside a field.
    #[error("the body ends inside field {0}")]
    Short(&'static str),
    /// A length or count says more than the bytes that are left.
    #[error("field {0} claims to be longer than what has arrived")]
    TooLong(&'static str),
    /// Null where the schema has no null.
    #[error("field {0} is null, which its version does not allow")]
    Null(&'static str),
    /// A variable-length integer of more than five bytes, or beyond 31 bits.
    #[error("field {0} has a length that is no length")]
    BadLength(&'static str),
    /// More array elements and tagged fields than the limit.
    #[error("field {0} exceeds the limit of elements in one message")]
    TooManyElements(&'static str),
}

/// Checks a request's body.
pub(super) fn check_request(
    key: i16,
    version: i16,
    body: &[u8],
    elements: usize,
) -> Result<(), ShapeFault> {
    check(REQUESTS, key, version, body, elements)
}

/// Checks a response's body.
pub(super) fn check_response(
    key: i16,
    version: i16,
    body: &[u8],
    elements: usize,
) -> Result<(), ShapeFault> {
    check(RESPONSES, key, version, body, elements)
}

/// The first version of an API whose messages are flexible.
pub(super) fn flexible_from(key: i16) -> Option<i16> {
    shape_of(REQUESTS, key).map(|shape| shape.flexible)
}

fn check(
    shapes: &'static [&'static [Shape]],
    key: i16,
    version: i16,
    body: &[u8],
    elements: usize,
) -> Result<(), ShapeFault> {
    let Some(shape) = shape_of(shapes, key) else { return Ok(()) };
    let flexible = version >= shape.flexible;
    let mut walk = Walk { rest: body, version, flexible, elements };
    walk.fields(shape.fields)
}

struct Walk<'a> {
    rest: &'a [u8],
    version: i16,
    flexible: bool,
    /// How many more elements are allowed.
    elements: usize,
}

impl Walk<'_> {
    fn fields(&mut self, fields: &'static [Field]) -> Result<(), ShapeFault> {
        for field in fields {
            if field.tag.is_none() && field.is_in(self.version) {
                self.value(field, &field.kind, self.version >= field.null_from)?;
            }
        }
        if self.flexible { self.tagged(fields) } else { Ok(()) }
    }

    fn value(&mut self, field: &Field, kind: &'static Kind, null: bool) -> Result<(), ShapeFault> {
        match kind {
            Kind::Fixed(size) => self.skip(field.name, *size),
            Kind::Str | Kind::Blob => {
                let wide = matches!(kind, Kind::Blob);
                match self.length(field.name, wide)? {
                    Some(length) => self.skip(field.name, length),
                    None if null => Ok(()),
                    None => Err(ShapeFault::Null(field.name)),
                }
            }
            Kind::Array(element) => match self.length(field.name, true)? {
                Some(count) => self.array(field, element, count),
                None if null => Ok(()),
                None => Err(ShapeFault::Null(field.name)),
            },
            // A byte says whether a struct that may be null is there.
            Kind::Struct(fields) if field.null_from != MAX => {
                let [there] = self.take(field.name)?;
                match there.cast_signed() {
                    ..0 if null => Ok(()),
                    ..0 => Err(ShapeFault::Null(field.name)),
                    _ => self.fields(fields),
                }
            }
            Kind::Struct(fields) => self.fields(fields),
        }
    }

    fn array(
        &mut self,
        field: &Field,
        element: &'static Kind,
        count: usize,
    ) -> Result<(), ShapeFault> {
        // Every element takes a byte at least.
        if count > self.rest.len() {
            return Err(ShapeFault::TooLong(field.name));
        }
        self.charge(field.name, count)?;
        if let Kind::Fixed(size) = element {
            return self.skip(field.name, size.saturating_mul(count));
        }
        (0..count).try_for_each(|_| match element {
            // The null of the field is the array's.
            Kind::Struct(fields) => self.fields(fields),
            _ => self.value(field, element, false),
        })
    }

    /// The tagged fields at the end of a struct: those the schema knows are walked, the others
    /// are skipped (KIP-482).
    fn tagged(&mut self, fields: &'static [Field]) -> Result<(), ShapeFault> {
        const NAME: &str = "tagged fields";
        let count = self.varint(NAME)? as usize;
        // A tag and a size take two bytes at least.
        if count > self.rest.len() / 2 {
            return Err(ShapeFault::TooLong(NAME));
        }
        self.charge(NAME, count)?;
        for _ in 0..count {
            let tag = self.varint(NAME)?;
            let size = self.varint(NAME)? as usize;
            let Some((data, rest)) = self.rest.split_at_checked(size) else {
                return Err(ShapeFault::TooLong(NAME));
            };
            let known = fields.iter().find(|f| f.tag == Some(tag) && f.is_in(self.version));
            if let Some(field) = known {
                self.rest = data;
                self.value(field, &field.kind, self.version >= field.null_from)?;
            }
            self.rest = rest;
        }
        Ok(())
    }

    /// A length or count; `None` for null, which is any negative one, as in Kafka.
    fn length(&mut self, name: &'static str, wide: bool) -> Result<Option<usize>, ShapeFault> {
        if self.flexible {
            return match self.varint(name)? {
                0 => Ok(None),
                raw if i32::try_from(raw - 1).is_ok() => Ok(Some((raw - 1) as usize)),
                _ => Err(ShapeFault::BadLength(name)),
            };
        }
        let length = if wide {
            i32::from_be_bytes(self.take(name)?)
        } else {
            i32::from(i16::from_be_bytes(self.take(name)?))
        };
        Ok(usize::try_from(length).ok())
    }

    fn varint(&mut self, name: &'static str) -> Result<u32, ShapeFault> {
        let mut value = 0_u32;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.take(name)?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ShapeFault::BadLength(name))
    }

    fn take<const N: usize>(&mut self, name: &'static str) -> Result<[u8; N], ShapeFault> {
        let (head, rest) = self.rest.split_first_chunk().ok_or(ShapeFault::Short(name))?;
        self.rest = rest;
        Ok(*head)
    }

    fn skip(&mut self, name: &'static str, size: usize) -> Result<(), ShapeFault> {
        self.rest = self.rest.get(size..).ok_or(ShapeFault::TooLong(name))?;
        Ok(())
    }

    fn charge(&mut self, name: &'static str, count: usize) -> Result<(), ShapeFault> {
        self.elements =
            self.elements.checked_sub(count).ok_or(ShapeFault::TooManyElements(name))?;
        Ok(())
    }
}
