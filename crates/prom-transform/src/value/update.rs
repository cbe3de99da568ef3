//! Changing parts of values: `.a |= f`, `.[] |= f`, `.[1:] |= f`, and the interpreter's contract for values.

use jaq_core::box_iter::BoxIter;
use jaq_core::path::Opt;
use jaq_core::val::Range;
use jaq_core::{Exn, ValT, ValX};
use jaq_json::{Map, Num, Rc, Val};

use super::{ELEMENT_BYTES, ENTRY_BYTES, Error, Value, ValueResult, access, own_elements, own_entries};
use crate::{meter, text};

impl ValT for Value {
    fn from_num(text: &str) -> ValueResult {
        let number = Num::from_str_radix(text, 10).unwrap_or_else(|| Num::Dec(Rc::new(text.to_owned())));
        Ok(Value::scalar(Val::Num(number)))
    }

    fn from_map<I: IntoIterator<Item = (Self, Self)>>(entries: I) -> ValueResult {
        let (mut map, mut depth) = (Map::default(), 0);
        for (key, value) in entries {
            if !matches!(key.val, Val::TStr(_)) {
                return Err(Error::typ(key, "object key (string)"));
            }
            meter::build(ENTRY_BYTES);
            depth = depth.max(value.depth);
            map.insert(key.val, value.val);
        }
        Ok(Value::built(Val::obj(map), depth + 1))
    }

    fn key_values(self) -> BoxIter<'static, Result<(Self, Self), Error>> {
        access::key_values(self)
    }

    fn values(self) -> Box<dyn Iterator<Item = ValueResult>> {
        access::values(self)
    }

    fn index(self, index: &Self) -> ValueResult {
        access::index(self, index)
    }

    fn range(self, range: Range<&Self>) -> ValueResult {
        access::range(self, range)
    }

    fn map_values<'a, I: Iterator<Item = ValX<'a, Self>>>(self, opt: Opt, f: impl Fn(Self) -> I) -> ValX<'a, Self> {
        let origin = self.origin();
        match self.val {
            Val::Arr(elements) => own_elements(elements).into_iter().flat_map(|val| f(origin.child(val))).collect(),
            Val::Obj(entries) => {
                let (mut map, mut depth) = (Map::default(), 0);
                for (key, val) in own_entries(entries) {
                    if let Some(value) = f(origin.child(val)).next().transpose()? {
                        meter::build(ENTRY_BYTES);
                        depth = depth.max(value.depth);
                        map.insert(key, value.val);
                    }
                }
                Ok(Value::built(Val::obj(map), depth + 1))
            }
            _ => opt.fail(self, |value| Exn::from(Error::typ(value, "iterable (array or object)"))),
        }
    }

    /// As in jq, and unlike in the interpreter's own values, setting a field of `null` makes an object.
    fn map_index<'a, I: Iterator<Item = ValX<'a, Self>>>(
        mut self,
        index: &Self,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        if let (Val::Null, Val::TStr(_)) = (&self.val, &index.val) {
            self = Value::built(Val::obj(Map::default()), 1);
        }
        let (origin, depth) = (self.origin(), self.depth);
        match (&mut self.val, &index.val) {
            (Val::Arr(_), Val::Obj(bounds)) => {
                let bound = |name: &str| bounds.get(&Val::utf8_str(name.to_owned())).cloned().map(Value::scalar);
                let (start, end) = (bound("start"), bound("end"));
                self.map_range(start.as_ref()..end.as_ref(), opt, f)
            }
            (Val::Obj(entries), key @ Val::TStr(_)) => {
                let entries = own_map(entries);
                let old = entries.get_mut(key).map(std::mem::take).unwrap_or_default();
                let new = f(origin.child(old)).next().transpose()?;
                let depth = depth.max(new.as_ref().map_or(0, |value| value.depth) + 1);
                match new {
                    Some(value) => {
                        meter::build(ENTRY_BYTES);
                        entries.insert(key.clone(), value.val);
                    }
                    None => {
                        meter::work(entries.len());
                        entries.shift_remove(key);
                    }
                }
                self.depth = meter::nest(depth);
                Ok(self)
            }
            (Val::Arr(elements), Val::Num(_)) => {
                let Some(at) = access::position(index, elements.len()) else {
                    let out = |_| Exn::from(Error::str(format_args!("index {index} out of bounds")));
                    return opt.fail(self, out);
                };
                let elements = own_vec(elements);
                let new = f(origin.child(std::mem::take(&mut elements[at]))).next().transpose()?;
                let depth = depth.max(new.as_ref().map_or(0, |value| value.depth) + 1);
                match new {
                    Some(value) => elements[at] = value.val,
                    None => {
                        meter::work(elements.len());
                        elements.remove(at);
                    }
                }
                self.depth = meter::nest(depth);
                Ok(self)
            }
            _ => opt.fail(self, |value| Exn::from(Error::index(value, index.clone()))),
        }
    }

    fn map_range<'a, I: Iterator<Item = ValX<'a, Self>>>(
        mut self,
        range: Range<&Self>,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        let (origin, depth) = (self.origin(), self.depth);
        let Val::Arr(elements) = &mut self.val else {
            return opt.fail(self, |value| Exn::from(Error::typ(value, "array")));
        };
        let (start, end) = match access::bounds(&range, elements.len()) {
            Ok(bounds) => bounds,
            Err(error) => return opt.fail(self, |_| Exn::from(error)),
        };
        meter::build((end - start) * ELEMENT_BYTES);
        let slice = Val::Arr(Rc::new(elements[start..end].to_vec()));
        let new = match f(origin.slice(slice)).next().transpose()? {
            Some(value) => value,
            None => std::iter::empty::<Value>().collect(),
        };
        let new_depth = new.depth;
        let Val::Arr(new) = new.val else {
            return Err(Exn::from(Error::typ(new, "array")));
        };
        meter::build(new.len() * ELEMENT_BYTES);
        meter::work(elements.len());
        own_vec(elements).splice(start..end, new.iter().cloned());
        self.depth = meter::nest(depth.max(new_depth));
        Ok(self)
    }

    fn as_bool(&self) -> bool {
        !matches!(self.val, Val::Null | Val::Bool(false))
    }

    fn into_string(self) -> Self {
        match self.val {
            Val::TStr(_) => self,
            val => Value::string(text::write_inside(&val).unwrap_or_default()),
        }
    }
}

/// The elements for writing, charging for the copy if they are shared.
fn own_vec(elements: &mut Rc<Vec<Val>>) -> &mut Vec<Val> {
    if Rc::strong_count(elements) > 1 {
        meter::build(elements.len() * ELEMENT_BYTES);
    }
    Rc::make_mut(elements)
}

/// The entries for writing, charging for the copy if they are shared.
fn own_map(entries: &mut Rc<Map>) -> &mut Map {
    if Rc::strong_count(entries) > 1 {
        meter::build(entries.len() * ENTRY_BYTES);
    }
    Rc::make_mut(entries)
}
