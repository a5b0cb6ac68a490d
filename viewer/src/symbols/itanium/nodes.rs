//! The nodes of a mangled name, which both passes know, and their limits.

/// Nesting of a name, of which a template in template arguments takes four. Both passes recurse:
/// without optimization this depth takes less than half of the stack of a thread that names
/// functions, by a test.
pub(super) const DEPTH: usize = 384;

/// Nodes that are printed at most: substitutions can make a short name expand exponentially, also
/// one without text.
pub(super) const STEPS: usize = 1 << 18;

/// The number of a node.
pub(super) type Id = u32;

/// A part of a name.
#[derive(Clone, Debug)]
pub(super) enum Node<'n> {
    /// Text that is printed as it is.
    Text(&'n str),
    /// `outer::name`.
    Nested(Id, Id),
    /// Something inside a function.
    Local(Id, Id),
    /// A name with its template arguments.
    Template(Id, Vec<Id>),
    /// Several template arguments in place of one, `J…E`.
    Arguments(Vec<Id>),
    /// A template parameter, by its number among the arguments of the function around it. What
    /// it stands for is found when it is printed: a substitution may name it again elsewhere.
    Parameter(usize),
    /// A parameter that a lambda declares, `$T0`: mark and number.
    Declared(&'static str, usize),
    /// Such parameters with their declarations, its own parameters, and its number.
    Lambda {
        declared: Vec<(Id, Id)>,
        parameters: Vec<Id>,
        number: usize,
    },
    /// A type without a name, by its number.
    Unnamed(usize),
    /// A constructor or, with `~`, destructor of a class.
    Constructor(&'static str, Id),
    /// `operator` and a symbol.
    Operator(&'static str),
    /// `operator` and a type.
    Conversion(Id),
    /// `operator""` and a name.
    LiteralOperator(Id),
    /// A name with a tag in brackets.
    Tagged(Id, &'n str),
    /// Names of one structured binding.
    Binding(Vec<Id>),
    /// Words, and what they are about: `vtable for A`.
    About(&'static str, Id),
    /// Words about two things: `construction vtable for A-in-B`.
    AboutTwo(&'static str, Id, &'static str, Id),
    /// A function: its name, parameters, and what follows those.
    Function(Id, Vec<Id>, Behind),
    /// A type, and what makes another of it: `*`, `&`.
    Pointer(Id),
    Reference(Id),
    RvalueReference(Id),
    /// A type and words behind it: ` const`, ` _Complex`.
    Qualified(Id, Behind),
    Suffixed(Id, &'static str),
    /// A type and the vendor's word behind it.
    Vendor(Id, Id),
    FunctionType {
        result: Id,
        parameters: Vec<Id>,
        behind: Behind,
    },
    /// Element, and size if it is known.
    Array(Id, Option<Id>),
    Vector(Id, Id),
    /// Class, and type of the member.
    MemberPointer(Id, Id),
    /// What is repeated for each element of the packs in it.
    Expansion(Id),
    Decltype(Id),
    /// Expressions.
    /// Digits, whether negative, and what tells the type behind them: `3ul`.
    Literal(&'n str, bool, &'static str),
    /// The same with the type before it: `(Kind)3`.
    CastLiteral(Id, &'n str, bool),
    TypedLiteral(Id, &'n str),
    Prefix(&'static str, Id),
    Postfix(Id, &'static str),
    Binary(Id, &'static str, Id),
    Conditional(Id, Id, Id),
    Member(Id, &'static str, Id),
    Subscript(Id, Id),
    Call(Id, Vec<Id>),
    /// `(type)(operands)`.
    Cast(Id, Vec<Id>),
    /// `static_cast<type>(operand)`.
    NamedCast(&'static str, Id, Id),
    /// `sizeof (operand)`.
    Enclosed(&'static str, Id),
    /// Type, if it has one, and elements.
    Braced(Option<Id>, Vec<Id>),
    /// `sizeof...(pack)`.
    SizeOfPack(Id),
    /// `(first op ... op last)`.
    Fold(Option<Id>, &'static str, Option<Id>),
    /// `{parm#1}`.
    FunctionParameter(usize),
    New {
        words: &'static str,
        placement: Vec<Id>,
        of: Id,
        with: Option<Vec<Id>>,
    },
}

/// What stands behind the parameters of a function, or behind a type.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Behind {
    pub(super) is_const: bool,
    pub(super) is_volatile: bool,
    pub(super) is_restrict: bool,
    /// `&` or `&&` of a member function.
    pub(super) reference: &'static str,
    pub(super) noexcept: bool,
}
