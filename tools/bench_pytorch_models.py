"""The models of `plimsoll train --model` in PyTorch: peers of tools/bench_pytorch.py and tools/bench_gpt_loss.py.

They share no code with runtime/net/models.c, only the description: sizes for small images, no biases before batch norm,
one linear head. `checkpointed` recomputes every block in the backward pass.
"""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

CLASSES = 10
RESNETS = {"resnet20": ((16, 32, 64), (3, 3, 3)), "resnet18": ((64, 128, 256, 512), (2, 2, 2, 2)),
           "resnet34": ((64, 128, 256, 512), (3, 4, 6, 3)), "resnet50": ((256, 512, 1024, 2048), (3, 4, 6, 3))}
# Width and number of convolutions of each stage.
VGG16 = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))
MOBILENET = ((64, 1), (128, 2), (256, 2), (512, 6), (1024, 2))
DENSENET121, GROWTH = (6, 12, 24, 16), 32
UNET = (32, 64, 128, 256, 512)


class Checkpointed(nn.Module):
    """Keeps the inputs of a block alone."""
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, *x):
        return checkpoint(self.body, *x, use_reentrant=False)


def conv_bn(inputs, outputs, kernel, stride=1, groups=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
                         nn.BatchNorm2d(outputs))


def conv_bn_relu(*args, **named):
    return nn.Sequential(conv_bn(*args, **named), nn.ReLU())


def bn_relu_conv(inputs, outputs, kernel):
    return nn.Sequential(nn.BatchNorm2d(inputs), nn.ReLU(),
                         nn.Conv2d(inputs, outputs, kernel, 1, kernel // 2, bias=False))


def head(inputs):
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, CLASSES)]


class Residual(nn.Module):
    """Convolutions with batch norm and ReLU, and a shortcut around them."""
    def __init__(self, inputs, outputs, stride, bottleneck):
        super().__init__()
        inner = outputs // 4
        self.convs = nn.Sequential(
            conv_bn_relu(inputs, inner, 1), conv_bn_relu(inner, inner, 3, stride), conv_bn(inner, outputs, 1)
        ) if bottleneck else nn.Sequential(conv_bn_relu(inputs, outputs, 3, stride), conv_bn(outputs, outputs, 3))
        changes = stride != 1 or inputs != outputs
        self.shortcut = conv_bn(inputs, outputs, 1, stride) if changes else nn.Identity()

    def forward(self, x):
        return torch.relu(self.convs(x) + self.shortcut(x))


def resnet(name, channels, wrap):
    """resnet20: the CIFAR form with 1x1 projections; resnet18 and 34: the first layer is 3x3, for small images;
    resnet50: for large ones, the stride in the 3x3 convolution of a block."""
    widths, depths = RESNETS[name]
    large = name == "resnet50"
    inputs = 64 if large else widths[0]
    layers = [conv_bn_relu(channels, inputs, 7 if large else 3, 2 if large else 1)]
    if large:
        layers.append(nn.MaxPool2d(3, 2, 1))
    for stage, (width, depth) in enumerate(zip(widths, depths)):
        for block in range(depth):
            layers.append(wrap(Residual(inputs, width, 2 if stage and not block else 1, large)))
            inputs = width
    return nn.Sequential(*layers, *head(inputs))


def vgg16(channels, image, wrap):
    layers, inputs = [], channels
    for width, depth in VGG16:
        convs = [conv_bn_relu(inputs if not block else width, width, 3) for block in range(depth)]
        layers.append(wrap(nn.Sequential(*convs, nn.MaxPool2d(2))))
        inputs = width
    places = (image[0] >> len(VGG16)) * (image[1] >> len(VGG16))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(inputs * places, CLASSES))


def mobilenet(channels, image, wrap):
    layers, inputs = [conv_bn_relu(channels, 32, 3, 2 if image[0] > 64 else 1)], 32
    for stage, (width, depth) in enumerate(MOBILENET):
        for block in range(depth):
            stride = 2 if stage and not block else 1
            layers.append(wrap(nn.Sequential(conv_bn_relu(inputs, inputs, 3, stride, groups=inputs),
                                             conv_bn_relu(inputs, width, 1))))
            inputs = width
    return nn.Sequential(*layers, *head(inputs))


class Dense(nn.Module):
    """What comes in, and beside it what the layer makes of it."""
    def __init__(self, inputs):
        super().__init__()
        self.layer = nn.Sequential(bn_relu_conv(inputs, 4 * GROWTH, 1), bn_relu_conv(4 * GROWTH, GROWTH, 3))

    def forward(self, x):
        return torch.cat((x, self.layer(x)), 1)


def densenet121(channels, wrap):
    width = 64
    layers = [nn.Conv2d(channels, width, 3, 1, 1, bias=False)]
    for stage, depth in enumerate(DENSENET121):
        for _ in range(depth):
            layers.append(wrap(Dense(width)))
            width += GROWTH
        if stage + 1 < len(DENSENET121):
            layers += [bn_relu_conv(width, width // 2, 1), nn.AvgPool2d(2)]
            width //= 2
    return nn.Sequential(*layers, nn.BatchNorm2d(width), nn.ReLU(), *head(width))


class UNet(nn.Module):
    """Half of the published widths, padded; it scores the mean of the last map over its pixels."""
    def __init__(self, channels, wrap):
        super().__init__()
        pair = lambda inputs, outputs: wrap(nn.Sequential(conv_bn_relu(inputs, outputs, 3),
                                                          conv_bn_relu(outputs, outputs, 3)))
        self.down = nn.ModuleList(pair(a, b) for a, b in zip((channels, *UNET), UNET))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * a, a, 2, 2, bias=False) for a in UNET[-2::-1])
        self.join = nn.ModuleList(pair(2 * a, a) for a in UNET[-2::-1])
        self.head = nn.Sequential(*head(UNET[0]))

    def forward(self, x):
        skips = []
        for level, pair in enumerate(self.down):
            x = pair(x if level == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        skips.pop()
        for up, join in zip(self.up, self.join):
            x = join(torch.cat((skips.pop(), up(x)), 1))
        return self.head(x)


def image_model(name, channels, image, checkpointed):
    """image: height and width."""
    wrap = Checkpointed if checkpointed else lambda block: block
    if name in RESNETS:
        return resnet(name, channels, wrap)
    if name == "unet":
        return UNet(channels, wrap)
    if name == "densenet121":
        return densenet121(channels, wrap)
    return {"vgg16": vgg16, "mobilenet": mobilenet}[name](channels, image, wrap)


IMAGE_MODELS = (*RESNETS, "vgg16", "mobilenet", "densenet121", "unet")


# ---- a text ----

class Block(nn.Module):
    def __init__(self, width, heads, layers):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        for linear in (self.qkv, self.project, self.up, self.down):
            nn.init.normal_(linear.weight, std=0.02)
            nn.init.zeros_(linear.bias)
        for linear in (self.project, self.down):
            nn.init.normal_(linear.weight, std=0.02 / (2 * layers) ** 0.5)

    def forward(self, x):
        batch, context, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, context, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).reshape(batch, context, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    """Pre-norm, learned positions, the table of words is the output's, too."""
    def __init__(self, layers, width, heads, context, checkpointed=False):
        super().__init__()
        wrap = Checkpointed if checkpointed else lambda block: block
        self.words = nn.Parameter(0.02 * torch.randn(256, width))
        self.positions = nn.Parameter(0.02 * torch.randn(context, width))
        self.blocks = nn.ModuleList(wrap(Block(width, heads, layers)) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens, labels):
        """The sum of the losses of all tokens."""
        x = self.words[tokens] + self.positions
        for block in self.blocks:
            x = block(x)
        logits = self.norm(x) @ self.words.T
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-1, reduction="sum")


def adamw(model, rate, **named):
    """Matrices and tables decay, vectors do not."""
    decays = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": decays, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), eps=1e-8, **named)
