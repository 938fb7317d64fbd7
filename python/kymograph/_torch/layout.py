"""Where torch keeps what it knows about an operator.

Nothing here may disturb the program: no random numbers, no operator on other devices, no import.
"""

from __future__ import annotations

from typing import Any

from kymograph._torch.records import Records
from kymograph._torch.tensors import ASKED, HANDLED, OPAQUE, PLAIN, Tensors
from kymograph._torch.values import Values, names_of


def find(torch: Any) -> dict[str, Any]:
    """Return the layout, as `_core.torch_layout_set` takes it. Raises NotFound."""
    records = Records(torch)
    records.arguments()
    records.numbers()
    records.scopes()
    records.overloads()
    values = Values(records)
    values.simple()
    values.lists()
    element, tensor_type = values.element()
    values.texts()
    values.named()
    tensors = Tensors(records)
    for tensor in tensors.probes():
        tensors.see(tensor)
    tensors.meta()
    optional = {name: tensors.fields.pop(name) for name in ("data", "object")}
    policy = tensors.policy()
    handled = () if policy < 0 else HANDLED
    plain, strided = tensors.mask(PLAIN), tensors.mask((*PLAIN, *ASKED, *handled))
    opaque = tensors.mask(OPAQUE if policy >= 0 else (*OPAQUE, *HANDLED))
    return {
        **{name: field.offset() for name, field in records.fields.items()},
        "scope": records.scope.offset(),
        "overload": records.overload.offset(),
        **{name: field.offset() for name, field in values.objects.items()},
        **{name: field.offset() for name, field in tensors.fields.items()},
        **{
            name: next(iter(field.left)) if len(field.left) == 1 else -1
            for name, field in optional.items()
        },
        "element": element,
        "tensor_type": tensor_type,
        "type": torch.Tensor,
        "kinds": bytes(values.kinds),
        "tags": names_of(values.tags),
        "dtypes": tensors.dtypes(),
        "policy": policy,
        "plain": plain,
        "strided": strided,
        "opaque": opaque & ~strided,
    }
