"""Expressions with every named value, loop, formula and default resolved: recipe.md (values: the operators)."""

from __future__ import annotations

from schemas.recipe.document import RecipeDocument
from schemas.recipe.expanded import (
    Cast,
    CastRule,
    Concat,
    DivisorConvention,
    DraftIds,
    Expression,
    Fp8Row,
    Gather,
    Nvfp4,
    Reciprocal,
    ReciprocalRule,
    Reshape,
    Same,
    Slice,
    Tensor,
    Transpose,
)
from schemas.recipe.fields import Faulty
from schemas.recipe.limits import EXPRESSION_LEVELS
from schemas.recipe.operators import (
    OPERATORS,
    CastDocument,
    ConcatDocument,
    DivisorsDocument,
    DraftIdsDocument,
    DraftIdsMembers,
    EachDocument,
    Fp8RowDocument,
    Fp8RowMembers,
    GatherDocument,
    MultipliersDocument,
    Nvfp4Document,
    OperatorDocument,
    ReciprocalDocument,
    ReshapeDocument,
    SameDocument,
    SliceDocument,
    TensorDocument,
    TopDocument,
    TransposeDocument,
    UnaryDocument,
    ValueDocument,
)
from schemas.recipe.pointer import NodePath
from schemas.registry import Format
from workers.engine.recipe.declarations import Resources, Sources
from workers.engine.recipe.expression_size import LeastSizes
from workers.engine.recipe.fault_list import unknown
from workers.engine.recipe.named_values import NamedValues, Node
from workers.engine.recipe.operator_types import CASTS
from workers.engine.recipe.references import References
from workers.engine.recipe.resolution import Resolver
from workers.engine.recipe.scope import Scope

_KEYS = {model: key for key, model in OPERATORS.items()}


def key(node: OperatorDocument) -> str:
    """The key by which a document names an operator."""
    return _KEYS[type(node)]


class ExpressionExpander:
    """Expands expressions of one recipe. Every method gives None where a fault, now in the list, stands in the way.

    `gathers` counts the operators of that name so far.
    """

    def __init__(
        self,
        document: RecipeDocument,
        resolver: Resolver,
        sources: Sources,
        resources: Resources,
        references: References,
        scope: Scope,
    ) -> None:
        self._values = NamedValues(document, resolver, references)
        self._resolver = resolver
        self._sources = sources
        self._resources = resources
        self.gathers = 0
        self._least = LeastSizes.of(document, references, scope)

    def value(self, node: Node, scope: Scope, path: NodePath) -> Expression | None:
        """The value of an object or one that must equal it, where draft_ids, nvfp4 and fp8_row may stand."""
        self._resolver.budget.room_for_nodes(self._least.size(node), path)
        return self._expand(node, scope, path, 1, top=True)

    def _operands(
        self, nodes: list[Node] | Faulty, scope: Scope, path: NodePath, level: int
    ) -> list[Expression] | None:
        if isinstance(nodes, Faulty):
            return None
        of = [self._expand(node, scope, (path, index), level) for index, node in enumerate(nodes)]
        known = [operand for operand in of if operand is not None]
        return known if len(known) == len(of) else None

    def _expand(self, node: Node, scope: Scope, path: NodePath, level: int, *, top: bool = False) -> Expression | None:
        """An expression at a level of nesting; `top` if it is a whole value."""
        if isinstance(node, Faulty):
            return None
        if not isinstance(node, ValueDocument):
            return self._operator(node, scope, path, level, top=top)
        followed: list[str] = []
        try:
            found = self._values.follow(node, scope, path, followed)
            return None if found is None else self._operator(*found, level, top=top)
        finally:
            self._values.leave(followed)

    def _operator(
        self, node: OperatorDocument, scope: Scope, path: NodePath, level: int, *, top: bool
    ) -> Expression | None:
        if level > EXPRESSION_LEVELS:
            self._resolver.faults.add(path, f"an expression of more than {EXPRESSION_LEVELS} levels")
            return None
        self._resolver.budget.node(path)
        match node:
            case TensorDocument():
                return self._tensor(node, scope, path)
            case ConcatDocument() | SameDocument():
                return self._joined(node, scope, path, level + 1)
            case DraftIdsDocument() | Nvfp4Document() | Fp8RowDocument():
                if not top:
                    self._resolver.faults.add(path, f"{key(node)!r} stands only at the top of a value")
                return self._top(node, scope, path, level + 1)
            case _:
                return self._unary(node, scope, path, level + 1)

    def _tensor(self, node: TensorDocument, scope: Scope, path: NodePath) -> Expression | None:
        tensor = self._resolver.name(node.tensor, scope, (path, "tensor"))
        if node.source is None:
            source = self._sources.only_checkpoint(self._resolver, path)
        else:
            source = self._sources.checkpoint(node.source, self._resolver, scope, (path, "source"))
        if tensor is None or source is None:
            return None
        self._resolver.budget.canonical_bytes(len(tensor) + len(source), path)
        return Tensor(tensor, source)

    def _unary(self, node: UnaryDocument, scope: Scope, path: NodePath, level: int) -> Expression | None:
        of = self._expand(node.of, scope, (path, key(node)), level)
        match node:
            case SliceDocument():
                return self._slice(node, of, scope, path)
            case ReshapeDocument():
                to = self._resolver.canonical_integers(node.to, scope, (path, "to"))
                return None if of is None or to is None else Reshape(of, to)
            case TransposeDocument():
                return self._transpose(node, of, scope, path)
            case GatherDocument():
                self.gathers += 1
                rows = self._resolver.name(node.rows, scope, (path, "rows"))
                return None if of is None or rows is None else Gather(of, rows)
            case CastDocument():
                return self._cast(node, of, scope, path)
            case ReciprocalDocument():
                by = self._resolver.choice(node.by, ReciprocalRule, scope, (path, "by"), what="rule of reciprocal")
                return None if of is None or by is None else Reciprocal(of, by)

    def _slice(self, node: SliceDocument, of: Expression | None, scope: Scope, path: NodePath) -> Expression | None:
        axis = self._resolver.canonical_integer(node.axis, scope, (path, "axis"))
        start = self._resolver.canonical_integer(node.start, scope, (path, "from"))
        stop = self._resolver.canonical_integer(node.stop, scope, (path, "to"))
        if start is not None and stop is not None and start >= stop:
            self._resolver.faults.add((path, "to"), f"a slice from {start} to {stop} is empty")
        if of is None or axis is None or start is None or stop is None:
            return None
        return Slice(of, axis, start, stop)

    def _transpose(
        self, node: TransposeDocument, of: Expression | None, scope: Scope, path: NodePath
    ) -> Expression | None:
        axes = self._resolver.canonical_integers(node.axes, scope, (path, "axes"))
        if axes is not None and sorted(axes) != list(range(len(axes))):
            self._resolver.faults.add((path, "axes"), f"{list(axes)} is not a permutation of 0 to {len(axes) - 1}")
        return None if of is None or axes is None else Transpose(of, axes)

    def _cast(self, node: CastDocument, of: Expression | None, scope: Scope, path: NodePath) -> Expression | None:
        to = self._resolver.choice(node.to, Format, scope, (path, "to"), what="format")
        by = self._resolver.choice(node.by, CastRule, scope, (path, "by"), what="rule of cast")
        if to is None or by is None:
            return None
        if (to, by) not in CASTS:
            known = ", ".join(f"{format} by {rule}" for format, rule in CASTS)
            self._resolver.faults.add(path, f"no cast to {to} by {by} exists; known: {known}")
            return None
        return None if of is None else Cast(of, to, by)

    def _joined(
        self, node: ConcatDocument | SameDocument, scope: Scope, path: NodePath, level: int
    ) -> Expression | None:
        if isinstance(node, SameDocument):
            same = self._operands(node.of, scope, (path, "same"), level)
            return None if same is None else Same(tuple(same))
        axis = self._resolver.canonical_integer(node.axis, scope, (path, "axis"))
        place = (path, "concat")
        if isinstance(node.of, EachDocument):
            of = self._each(node.of, scope, place, level)
        else:
            of = self._operands(node.of, scope, place, level)
        return None if of is None or axis is None else Concat(tuple(of), axis)

    def _each(self, node: EachDocument, scope: Scope, path: NodePath, level: int) -> list[Expression] | None:
        """The operands that the turns of a loop give, one turn after another."""
        variable = self._resolver.variable(node.variable, scope, (path, "for"))
        integers = self._resolver.turns(node.over, scope, (path, "in"))
        if variable is None or integers is None:
            return None
        joined: list[Expression] = []
        for value in integers:
            self._resolver.budget.turn(path)
            turn = self._operands(node.each, scope.bind(variable, value), (path, "each"), level)
            if turn is None:
                return None
            joined += turn
        return joined

    def _top(self, node: TopDocument, scope: Scope, path: NodePath, level: int) -> Expression | None:
        place = (path, key(node))
        match node.members:
            case Faulty():
                return None
            case DraftIdsMembers() as members:
                return self._draft_ids(members, scope, place)
            case Fp8RowMembers() as members:
                codes = self._expand(members.codes, scope, (place, "codes"), level)
                scales = self._expand(members.scales, scope, (place, "scales"), level)
                return None if codes is None or scales is None else Fp8Row(codes, scales)
            case members:
                return self._nvfp4(members, scope, place, level)

    def _nvfp4(
        self, node: DivisorsDocument | MultipliersDocument, scope: Scope, path: NodePath, level: int
    ) -> Expression | None:
        codes = self._expand(node.codes, scope, (path, "codes"), level)
        scales = self._expand(node.scales, scope, (path, "scales"), level)
        rule: ReciprocalRule | None = ReciprocalRule.EXACT
        if isinstance(node, DivisorsDocument):
            convention = DivisorConvention.DIVISORS
            factors = self._operands(node.divisors, scope, (path, "divisors"), level)
        else:
            convention = DivisorConvention.MULTIPLIERS
            factors = self._operands(node.multipliers, scope, (path, "multipliers"), level)
            if node.reciprocal is not None:
                place = (path, "reciprocal")
                rule = self._resolver.choice(node.reciprocal, ReciprocalRule, scope, place, what="rule of reciprocal")
        if codes is None or scales is None or factors is None or rule is None:
            return None
        return Nvfp4(codes, scales, tuple(factors), convention, rule)

    def _draft_ids(self, node: DraftIdsMembers, scope: Scope, path: NodePath) -> Expression | None:
        counts = self._sources.file(node.counts, self._resolver, scope, (path, "counts"))
        width = self._resolver.canonical_integer(node.width, scope, (path, "width"))
        domain = self._resolver.canonical_integer(node.domain, scope, (path, "domain"))
        take = self._resolver.canonical_integer(node.take, scope, (path, "take"))
        special = self._resolver.name(node.special, scope, (path, "special"))
        if special is not None and special not in self._resources.declared and self._resources.complete:
            message = unknown("resource", special, self._resources.declared)
            self._resolver.faults.add((path, "special"), message)
        if counts is None or width is None or domain is None or take is None or special is None:
            return None
        if not 0 < take <= domain <= min(width, 2**31):
            message = f"expected 0 < take <= domain <= width, domain at most 2^31, found {take}, {domain}, {width}"
            self._resolver.faults.add(path, message)
        return DraftIds(counts, width, domain, take, special)
